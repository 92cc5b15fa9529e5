// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file control_history.h  Random histories for tests of the control law. VMWSS_HISTORIES sets how
 * many of each kind.
 */
#pragma once

#include "control_host.h"

#include <stdlib.h>

#define GIB (1024 * MIB)

static uint64_t random_state;

static inline void seed_draws(uint64_t seed)
{
    random_state = seed * 0x9E3779B97F4A7C15ULL + 1;
}

/* xorshift64* */
static inline uint64_t draw(uint64_t n)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return n > 0 ? (random_state * 0x2545F4914F6CDD1DULL >> 16) % n : 0;
}

static inline bool chance(unsigned percent)
{
    return draw(100) < percent;
}

/* Prints the first history that failed. */
static inline void holds(bool (*check)(uint64_t seed), unsigned n)
{
    const char *text = getenv("VMWSS_HISTORIES");
    unsigned failed = 0, first = 0;

    n = text ? (unsigned)strtoul(text, NULL, 10) : n;
    for (unsigned seed = 1; seed <= n; seed++)
        if (!check(seed) && failed++ == 0)
            first = seed;
    ck_assert_msg(failed == 0, "%u of %u histories, the first: %u", failed, n, first);
}
