// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file utf8.h  Names that strangers made (processes, files, domains) as text that may be written
 * anywhere. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/** Each byte that is not part of well-formed UTF-8 (RFC 3629) becomes '?'. */
void utf8_clean(char *text);

/**
 * Bytes of the character at the beginning of @p text; 0 at its end, where it is not well-formed,
 * and where it is a control character (C0, DEL, C1), which a terminal may obey, or a format
 * character or separator of lines (Unicode's Cf, Zl, Zp), which reorder, hide or break what stands
 * beside them: U+202E shows "gpj.exe" for "exe.jpg".
 */
size_t utf8_printable_bytes(const char *text);

/** Is all of it such characters? */
bool utf8_is_printable(const char *text);

/** utf8_clean(), and each byte of a character that utf8_printable_bytes() refuses becomes '?'
 * too. */
void utf8_printable(char *text);

/** Copies @p from as far as it fits, then utf8_printable(); returns @p text. */
char *utf8_printable_copy(char *text, size_t size, const char *from);

/** vsnprintf() as far as it fits, then utf8_printable(). */
void utf8_printable_format(char *text, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/** Takes away a character at the end of which only the beginning is there, as of text that did not
 * fit. */
void utf8_end(char *text);
