// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file note.h  Sentences on standard output, beside tables. On a terminal a line that is wider
 * goes on in the next one at the end of a word; elsewhere, as in a pipe, lines are as they are. */
#pragma once

#include <stdio.h>

/** Prints as printf(). A line is written when its newline is printed, the last one at the latest
 * when the process exits. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Returns the stream that note() prints to. It is never closed. */
FILE *note_stream(void);
