// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file clock.h  Monotonic time. */
#pragma once

#include <stdint.h>
#include <time.h>

/** CLOCK_MONOTONIC in ns. */
static inline uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}
