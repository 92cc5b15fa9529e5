// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file escape.h  Converts untrusted names to text that is safe to print and to parse. */
#pragma once

#include <stdbool.h>

/**
 * Replaces each backslash by "\\", and each byte of a character that utf8_printable_bytes() refuses
 * by "\xHH". So each text stands for exactly one name, and can be converted back.
 * @return an allocation that the caller frees, or NULL. *escaped: the text differs from the name.
 */
char *escape_name(const char *name, bool *escaped);
