// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file counters.h  Events counted for single threads by perf_event_open(2).
 *
 * The events of a thread are one group: they count at the same time or not at all, so that their
 * ratios are right even if the PMU is shared. Nothing is scaled. Counting ends when the process
 * ends or is killed, because perf_event_open() returns a file descriptor.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct counter_event {
    uint64_t config; /* PERF_COUNT_* */
    uint32_t type;   /* PERF_TYPE_* */
    bool guest;      /* exclude_host: only while the thread runs a guest */
};

#define COUNTERS_EVENTS_MAX 4

/** Values counted since the counters were opened. */
struct counter_values {
    uint64_t enabled_ns; /* how long the thread was on a CPU */
    uint64_t running_ns; /* the part of enabled_ns in which the thread's events were counted */
    uint64_t value[COUNTERS_EVENTS_MAX];
};

/** The events of a group, at most COUNTERS_EVENTS_MAX. */
struct counted {
    const struct counter_event *events;
    size_t n_events;
    const char *what; /* the noun for messages: "cache misses" */
};

struct counters; /* opaque: counters of several threads */

/**
 * Opens the events for each thread. Threads that have ended are ignored.
 * @return 0, then *out must be given to counters_close(); -ENOTSUP: this host has no such counter;
 *         -EACCES; with the reason and the remedy
 */
int counters_open(const struct fsroot *root, const struct counted *counted, const pid_t *tids,
                  size_t n_tids, struct counters **out, struct error *error);

/** Reads the values of thread number @p thread of those given to counters_open(). 0, or a negative
 * errno if they cannot be read. */
int counters_read(const struct counters *counters, size_t thread, struct counter_values *values);

/** NULL is allowed. */
void counters_close(struct counters *counters);
