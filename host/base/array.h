// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file array.h  Arrays that grow one element at a time. */
#pragma once

#include <stddef.h>
#include <stdlib.h>

/** Returns the array with room for one more element after its @p n elements, reallocated if
 * necessary; or NULL if out of memory, and the old array stays valid. An empty array is NULL. Its
 * capacity is always a power of two. */
static inline void *array_grow(void *array, size_t n, size_t size)
{
    if ((n & (n - 1)) != 0) /* an array is full when n is a power of two */
        return array;
    return reallocarray(array, n == 0 ? 1 : 2 * n, size);
}
