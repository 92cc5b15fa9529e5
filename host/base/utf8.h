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
 * Returns the bytes of the character at the beginning of @p text; 0 at the end of the text, or if
 * the character is not well-formed or not printable. Control characters (C0, DEL, C1) are not
 * printable because a terminal may obey them. Format characters and line separators (Unicode's Cf,
 * Zl, Zp) are not because they reorder, hide or break the text beside them: U+202E shows "gpj.exe"
 * for "exe.jpg".
 */
size_t utf8_printable_bytes(const char *text);

/** Returns true if all of the text is printable. */
bool utf8_is_printable(const char *text);

/** As utf8_clean(); also replaces each byte of a character that is not printable by '?'. */
void utf8_printable(char *text);

/** Copies as much of @p from as fits, then calls utf8_printable(); returns @p text. */
char *utf8_printable_copy(char *text, size_t size, const char *from);

/** As vsnprintf(), truncated to the size, then utf8_printable(). */
void utf8_printable_format(char *text, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/** Removes an incomplete character at the end, for example after truncation. */
void utf8_end(char *text);
