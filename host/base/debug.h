// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file debug.h  What a program does, step by step, on standard error, to find a
 * fault in it: `vmwss --debug`. */
#pragma once

#include <stdbool.h>

/** Turns it on, for this process; time is counted from here. */
void debug_begin(void);

/** If it is on, prints "debug +SECONDS: MESSAGE" as one line: what is not printable becomes '?'
 * (utf8_printable()), for guests and files name what it names. */
void debug_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
