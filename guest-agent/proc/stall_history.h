// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file stall_history.h  Estimates how long tasks stalled in the window that fired a trigger: the
 * kernel only reports that the threshold was exceeded. Samples of the total, taken a few times per
 * window, give the rest. Pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** Samples per window: the reported time covers a window plus at most this part of another. */
#define STALL_SAMPLES_PER_WINDOW 4
#define STALL_SAMPLES (STALL_SAMPLES_PER_WINDOW + 2)

/** Samples of one trigger; initialise with {0}. */
struct stall_history {
    struct stall_sample {
        uint64_t taken_ns; /* clock_ns() */
        uint64_t total_us; /* since boot: struct stalled */
    } sample[STALL_SAMPLES];
    unsigned n; /* ever taken */
};

/** Returns true if a sample is due at @p now_ns. */
bool stall_history_due(const struct stall_history *history, uint64_t now_ns, uint64_t window_us);

void stall_history_add(struct stall_history *history, uint64_t now_ns, uint64_t total_us);

/**
 * Sets how long tasks stalled, and in how much time, since the newest sample that is at least a
 * window old, or else since the oldest. Returns false if there is no sample, or if the total
 * decreased.
 */
bool stall_history_since(const struct stall_history *history, uint64_t now_ns, uint64_t total_us,
                         uint64_t window_us, uint64_t *stalled_us, uint64_t *over_us);
