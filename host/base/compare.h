// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file compare.h  Orders of numbers for qsort(3) and bsearch(3), ascending. */
#pragma once

#include <stdint.h>

static inline int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/** Defines an order by a number in a struct. */
#define COMPARE_BY(name, type, member)                            \
    static int name(const void *a, const void *b)                 \
    {                                                             \
        const type *x = a;                                        \
        const type *y = b;                                        \
                                                                  \
        return (x->member > y->member) - (x->member < y->member); \
    }

/** Neither of them may be NaN. */
static inline int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}
