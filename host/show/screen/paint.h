// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file paint.h  Writes text to the screen. Untrusted bytes reach the terminal only through this
 * file, which sanitizes them. */
#pragma once

#include <stdbool.h>

/**
 * Writes @p text into a field of @p width cells: unprintable characters become '?', long text is
 * truncated, short text is padded. It never writes beyond the edge of the screen.
 */
void paint_field(int y, int x, int width, bool right, const char *text);

/** Writes text in the same way, up to the end of the line. */
void paint_line(int y, int x, const char *format, ...) __attribute__((format(printf, 3, 4)));

/** Returns true if the terminal's character set is UTF-8. */
bool paint_utf8(void);
