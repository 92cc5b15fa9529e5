// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file clock.h  Monotonic time, and our own CPU time. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>

/** CLOCK_MONOTONIC in ns. */
static inline uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

static inline struct timespec timespec_of_ns(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000),
                             .tv_nsec = (long)(ns % 1000000000)};
}

/** Sleeps for @p ns, or until a signal is handled. */
static inline void clock_sleep(uint64_t ns)
{
    const struct timespec time = timespec_of_ns(ns);

    nanosleep(&time, NULL);
}

/** CPU time of this process so far, user and system, in seconds. */
static inline double own_cpu_s(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6 +
           (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6;
}

static inline double timespec_s(const struct timespec *time)
{
    return (double)time->tv_sec + (double)time->tv_nsec / 1e9;
}

static inline int64_t timespec_ms(const struct timespec *time)
{
    return (int64_t)time->tv_sec * 1000 + time->tv_nsec / 1000000;
}

/** The time of @p clock in seconds, for example a thread's CPU clock (pthread_getcpuclockid(3)); 0
 * if the thread is gone. */
static inline double clock_s(clockid_t clock)
{
    struct timespec now = {0};

    clock_gettime(clock, &now);
    return timespec_s(&now);
}

/** CPU time of this thread so far, in seconds. */
static inline double thread_cpu_s(void)
{
    return clock_s(CLOCK_THREAD_CPUTIME_ID);
}
