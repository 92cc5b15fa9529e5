// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file random.h  A generator for drawing samples: repeatable from its seed, not for secrets. */
#pragma once

#include "base/clock.h"

#include <stdint.h>
#include <sys/random.h>

/** SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): small, seedable, and good enough to draw pages. */
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

/** Uniform in 0 .. bound - 1 (Lemire 2019, without the rejection step: its bias is < bound /
 * 2^64). */
static inline uint64_t random_below(uint64_t *state, uint64_t bound)
{
    return (uint64_t)(((unsigned __int128)random_next(state) * bound) >> 64);
}

/** A seed from the kernel, which differs each time. */
static inline uint64_t random_seed(void)
{
    uint64_t seed;

    return getrandom(&seed, sizeof(seed), 0) == sizeof(seed) ? seed : clock_ns();
}
