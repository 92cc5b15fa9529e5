// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file units.h  Numbers for people. All write into the caller's buffer and return it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** "64.1 MiB"; three significant digits or more, binary units. */
char *show_bytes(char *text, size_t size, uint64_t bytes);

/** "0.10s", "10s", "2m30s", "1h5m". */
char *show_seconds(char *text, size_t size, double seconds);

/** A bar of up to 30 characters for a share of 0 .. 1. */
char *show_bar(char *text, size_t size, double share);

/** Unix time as UTC, "2026-01-02T03:04:05Z", with @p digits decimals of the second (0 .. 6). */
char *show_time(char *text, size_t size, double unix_s, int digits);
