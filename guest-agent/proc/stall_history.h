// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file stall_history.h  How long tasks stalled in the window that violated a trigger: the kernel
 * says only that it was longer than the threshold. Samples of the total, taken a few times a
 * window, tell. Pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** Samples a window: the time that is reported is a window and at most this part of one more. */
#define STALL_SAMPLES_PER_WINDOW 4
#define STALL_SAMPLES (STALL_SAMPLES_PER_WINDOW + 2)

/** Begins with {0}. */
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
 * Since the newest sample that is a window old, or the oldest that there is: how long tasks
 * stalled, and of how long. False when there is no sample, or the total fell.
 */
bool stall_history_since(const struct stall_history *history, uint64_t now_ns, uint64_t total_us,
                         uint64_t window_us, uint64_t *stalled_us, uint64_t *over_us);
