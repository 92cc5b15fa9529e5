// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file debug.h  Prints each action of a program on standard error, for debugging: `vmwss
 * --debug`. */
#pragma once

#include <stdbool.h>

/** Turns debug output on for this process; its times count from this call. */
void debug_begin(void);

/** If debug output is on, prints "debug +SECONDS: MESSAGE" as one line. Unprintable characters
 * become '?' (utf8_printable()), because guests and files choose some of the names in it. */
void debug_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
