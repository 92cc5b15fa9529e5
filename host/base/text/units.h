// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file units.h  Formats numbers for people. All functions write into the caller's buffer and
 * return it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** "64.1 MiB"; three significant digits or more, binary units. */
char *show_bytes(char *text, size_t size, uint64_t bytes);

/** The error of @p bytes, within its bounds @p low .. @p high: "1.2 MiB" (the wider side), or "+1.2
 * MiB -62.3 MiB" if the lower side is more than twice the upper one, as with huge pages. */
char *show_error(char *text, size_t size, uint64_t bytes, uint64_t low, uint64_t high);

/** "0.10s", "10s", "2m30s", "1h5m". */
char *show_seconds(char *text, size_t size, double seconds);

/** As show_seconds(), but for headings: a whole number of minutes or hours has one unit, "1m"; any
 * other value has up to three digits. */
char *show_seconds_short(char *text, size_t size, double seconds);

/** "±", or "+-" if the locale is not UTF-8. */
const char *show_plus_minus(void);

/** A bar of up to 30 characters for a share of 0 .. 1. */
char *show_bar(char *text, size_t size, double share);

/** Unix time as UTC, "2026-01-02T03:04:05Z", with @p digits decimals of the second (0 .. 6). */
char *show_time(char *text, size_t size, double unix_s, int digits);

/* The functions above without a named buffer, for the arguments of one call: the text lives until
 * the end of the enclosing block. */
#define UNITS_TEXT 64
#define UNITS_BUFFER ((char[UNITS_TEXT]){""})
#define BYTES_TEXT(bytes) show_bytes(UNITS_BUFFER, UNITS_TEXT, bytes)
#define BAR_TEXT(share) show_bar(UNITS_BUFFER, UNITS_TEXT, share)
#define ERROR_TEXT(bytes, low, high) show_error(UNITS_BUFFER, UNITS_TEXT, bytes, low, high)
#define SECONDS_TEXT(seconds) show_seconds(UNITS_BUFFER, UNITS_TEXT, seconds)
#define SECONDS_SHORT_TEXT(seconds) show_seconds_short(UNITS_BUFFER, UNITS_TEXT, seconds)
#define TIME_TEXT(unix_s, digits) show_time(UNITS_BUFFER, UNITS_TEXT, unix_s, digits)
