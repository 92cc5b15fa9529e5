// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file paint.h  Text on the screen, whatever is in it: the one place where bytes of others reach
 * the terminal. */
#pragma once

#include <stdbool.h>

/**
 * Writes @p text into a field of @p width cells: what does not print becomes '?', what is too long
 * is cut, what is short is padded. Nothing is written beyond the edge of the screen.
 */
void paint_field(int y, int x, int width, bool right, const char *text);

/** The same, as long as the line is. */
void paint_line(int y, int x, const char *format, ...) __attribute__((format(printf, 3, 4)));

/** Is the terminal's character set UTF-8? */
bool paint_utf8(void);
