// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file bytes.h  Minimum, maximum, distance and saturating difference of two amounts. */
#pragma once

#include <stdint.h>

static inline uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/** The absolute difference. */
static inline uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/** a - b; 0 if b is larger. */
static inline uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}
