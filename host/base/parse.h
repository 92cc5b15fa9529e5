// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file parse.h  Numbers as a person writes them: all of the text, or -EINVAL. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** A decimal number of seconds, 0.001 .. 1e6. */
int parse_seconds(const char *text, double *seconds);

/** A time above 0, at most a century, as in 90 or 90s, 90m, 12h, 7d, 2w. */
int parse_span(const char *text, double *seconds);

/** A number of bytes, at least 1 and at most 2^60, as in 512, 1.5G, 2TiB; units are powers of 1024. */
int parse_size(const char *text, uint64_t *bytes);

/** A whole number within min .. max. */
int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value);

/** A percentage above 0, at most @p max, with or without "%". */
int parse_percent(const char *text, double max, double *percent);

/** "S,S,..." into seconds[0 .. *n), ascending, each once, at most @p max. */
int parse_seconds_list(const char *list, double *seconds, size_t max, size_t *n);
