// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file utf8.h  Converts names chosen by others (processes, files, domains) to text that may be
 * written anywhere. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/** Each byte that is not part of well-formed UTF-8 (RFC 3629) becomes '?'. */
void utf8_clean(char *text);

/**
 * Bytes of the character at the beginning of @p text; 0 at its end, and for a character that is not
 * well-formed or not printable. Not printable are control characters (C0, DEL, C1), which a
 * terminal may obey, and format characters and line separators (Unicode's Cf, Zl, Zp), which
 * reorder, hide or break the text beside them: U+202E shows "gpj.exe" for "exe.jpg".
 */
size_t utf8_printable_bytes(const char *text);

/** Returns true if all of the text is printable. */
bool utf8_is_printable(const char *text);

/** As utf8_clean(), and each byte of a character that utf8_printable_bytes() refuses becomes '?'
 * too. */
void utf8_printable(char *text);

/** Copies as much of @p from as fits, then calls utf8_printable(); returns @p text. */
char *utf8_printable_copy(char *text, size_t size, const char *from);

/** Calls vsnprintf(), cutting the text to the size, then utf8_printable(). */
void utf8_printable_format(char *text, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/** Removes an incomplete character at the end, for example of text that did not fit. */
void utf8_end(char *text);
