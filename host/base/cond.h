// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file cond.h  Mutexes that are held to the end of a block, and condition variables that use
 * CLOCK_MONOTONIC, so that setting the system's clock does not affect a timed wait. All times are
 * those of clock_ns().
 */
#pragma once

#include "base/clock.h"

#include <pthread.h>

/** Like pthread_cond_init(), for cond_wait_until(). */
static inline void cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

static inline pthread_mutex_t *mutex_locked(pthread_mutex_t *mutex)
{
    pthread_mutex_lock(mutex);
    return mutex;
}

static inline void mutex_unlock_at(pthread_mutex_t *const *mutex)
{
    pthread_mutex_unlock(*mutex);
}

/** Holds the mutex from here to the end of the block. Use it at most once in a block. */
#define HOLD(mutex)                                   \
    __attribute__((cleanup(mutex_unlock_at), unused)) \
    pthread_mutex_t *const held_mutex = mutex_locked(mutex)

/** Waits, with @p mutex held, until the condition is signalled, or until @p until_ns. 0 or
 * ETIMEDOUT. */
static inline int cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t until_ns)
{
    const struct timespec until = timespec_of_ns(until_ns);

    return pthread_cond_timedwait(cond, mutex, &until);
}

/** The time that is @p seconds from now. */
static inline uint64_t cond_in_s(double seconds)
{
    return clock_ns() + (uint64_t)(seconds * 1e9);
}
