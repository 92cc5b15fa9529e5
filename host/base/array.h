// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file array.h  The number of elements of an array, and arrays that grow one element at a time.
 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/** The number of elements of an array; not for a pointer. */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/** Returns the array with room for one more element after its @p n elements, reallocated if
 * necessary; or NULL if out of memory, and the old array stays valid. An empty array is NULL. Its
 * capacity is always a power of two. */
static inline void *array_grow(void *array, size_t n, size_t size)
{
    if ((n & (n - 1)) != 0) /* an array is full when n is a power of two */
        return array;
    return reallocarray(array, n == 0 ? 1 : 2 * n, size);
}

/** Appends a copy of @p item, of @p size bytes, to the array at @p array, which has @p n elements.
 * Returns 0, or -ENOMEM with the array unchanged. @p array is the address of a pointer to elements
 * of any type. */
static inline int array_put(void *array, size_t *n, const void *item, size_t size)
{
    void *grown;

    memcpy(&grown, array, sizeof(grown));
    grown = array_grow(grown, *n, size);
    if (!grown)
        return -ENOMEM;
    memcpy((char *)grown + size * (*n)++, item, size);
    memcpy(array, &grown, sizeof(grown));
    return 0;
}
