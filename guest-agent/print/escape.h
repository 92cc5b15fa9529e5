// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file escape.h  Untrusted names as text that is safe to print and to parse. */
#pragma once

#include <stdbool.h>

/**
 * Each backslash becomes "\\", and each byte of what utf8_printable_bytes() refuses "\xHH"; the
 * rest stays. So a text stands for one name only, and the bytes can be had back from it, whether or
 * not *escaped is known.
 * @return an allocation that the caller frees, or NULL; *escaped: the text differs from the name.
 */
char *escape_name(const char *name, bool *escaped);
