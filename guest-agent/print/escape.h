// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file escape.h  Names that anybody may have chosen, as text that is safe to print and to parse. */
#pragma once

#include <stdbool.h>

/**
 * Valid UTF-8 without control characters (nor the C1 ones, U+0080 .. U+009F) is returned as it is. In any other text each
 * byte that is none of that becomes "\xHH", and each backslash "\\", so that the bytes can be had back.
 * @return an allocation that the caller frees, or NULL; *escaped says which of the two it is.
 */
char *escape_name(const char *name, bool *escaped);
