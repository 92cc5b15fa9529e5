// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file array.h  Arrays that grow by one element after the other. */
#pragma once

#include <stddef.h>
#include <stdlib.h>

/** The array, or a larger one, with room for one element more behind its @p n; NULL when out of
 * memory, and then the old one stays. Begins with NULL; its room is always a power of two. */
static inline void *array_grow(void *array, size_t n, size_t size)
{
    if ((n & (n - 1)) != 0) /* full at the powers of two */
        return array;
    return reallocarray(array, n == 0 ? 1 : 2 * n, size);
}
