// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file parse.h  Parses numbers as people write them. Each function parses the whole text, or
 * returns -EINVAL. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The form that parse_seconds() and parse_span() accept, for command_bad_value(). */
#define PARSE_SECONDS_EXPECTED "a time from 1ms to 1000000s, as in 0.5, 90s, 10m or 1h"
#define PARSE_SPAN_EXPECTED "a time of at most a century, as in 90m, 12h, 7d or 2w"

/** A window or an interval: 1 ms to 1e6 s, in seconds or with a unit: 500ms, 90s, 10m, 1h, 1d,
 * 1w. */
int parse_seconds(const char *text, double *seconds);

/** A length of time in the history: above 0, at most a century, with the same units. */
int parse_span(const char *text, double *seconds);

#define PARSE_MOMENT_EXPECTED                                                            \
    "how long ago, with a unit, as in 90m or 7d, or a time, as in 20:45, 2026-01-31 or " \
    "2026-01-31T20:45"

/**
 * A moment: a span before @p now_s in the form of parse_span(); or a day, a time with or without
 * seconds, or both separated by T or a blank. A day alone means its midnight; a time alone means
 * today. Times are local, or UTC if Z follows. Of the two equal hours in autumn mktime(3) chooses
 * one. Numbers of 8 digits and numbers above 10^6 need a unit. @p now_s, @p unix_s: Unix time.
 */
int parse_moment(const char *text, double now_s, double *unix_s);

/** A number of bytes, at least 1 and at most 2^60, as in 512, 1.5G, 2TiB; units are powers of
 * 1024. */
int parse_size(const char *text, uint64_t *bytes);

#define PARSE_SPEED_EXPECTED                                                                       \
    "a speed with its unit: bytes as in 119MiB/s (which virsh counts in) or 125MB/s, or bits, as " \
    "in 10Gbit/s"

/** Bytes a second, at least 1 and at most 2^50, always with a unit: KiB, MiB, GiB, kB, MB, GB, Mbit
 * or Gbit, each with or without "/s". A plain number or 10G may mean bits or bytes: -EINVAL. */
int parse_speed(const char *text, double *bytes_s);

/** A whole number within min .. max. */
int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value);

/** A percentage above 0, at most @p max, with or without "%". */
int parse_percent(const char *text, double max, double *percent);

/** Parses "S,S,..." into seconds[0 .. *n): at most @p max numbers, ascending, without
 * duplicates. */
int parse_seconds_list(const char *list, double *seconds, size_t max, size_t *n);

/** A text that is not empty and that fits, with its NUL, into @p size bytes. */
int parse_text(const char *text, char *out, size_t size);
