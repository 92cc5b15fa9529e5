// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file parse.h  Numbers as a person writes them: all of the text, or -EINVAL. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** A decimal number of seconds, 0.001 .. 1e6. */
int parse_seconds(const char *text, double *seconds);

/** A whole number within min .. max. */
int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value);

/** A percentage above 0, at most @p max, with or without "%". */
int parse_percent(const char *text, double max, double *percent);

/** "S,S,..." into seconds[0 .. *n), ascending, each once, at most @p max. */
int parse_seconds_list(const char *list, double *seconds, size_t max, size_t *n);
