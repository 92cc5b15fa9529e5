// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file debug.h  Prints a program's actions, step by step, on standard error, to find a fault in
 * it: `vmwss --debug`. */
#pragma once

#include <stdbool.h>

/** Turns it on for this process; time counts from this call. */
void debug_begin(void);

/** If it is on, prints "debug +SECONDS: MESSAGE" as one line. Unprintable characters become '?'
 * (utf8_printable()), because guests and files choose some of the names in it. */
void debug_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
