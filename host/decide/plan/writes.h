// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file writes.h  What a guest of a fleet writes, by the hour of the week: the input of prices
 * (price.h). Plain data and pure functions.
 *
 * Curves of the same hour of the week are merged. For each window the mean is kept, and the lowest
 * and highest bound, so the bounds hold for every curve that was seen.
 */
#pragma once

#include "measure/estimate/write_curve.h"

#include <stdbool.h>

/** The hours of a week, in UTC: 0 is Monday 00:00. */
#define PLAN_WEEK_HOURS 168
/** All of them together. */
#define PLAN_ANY_HOUR PLAN_WEEK_HOURS
/** Different windows that are kept; vmwssd has seven. */
#define PLAN_WRITE_WINDOWS 8

/** One window in one hour of the week, over @p n curves. */
struct plan_written {
    float est_window_s, bytes;   /* sums */
    float low_bytes, high_bytes; /* infinite, and below 0: not known */
    unsigned n;
};

struct plan_writes {
    uint64_t resident_bytes;
    bool kvm;
    double last_s;             /* Unix time of the latest curve */
    uint64_t sparse_end_bytes; /* of that curve */
    unsigned flags;            /* of that curve, too */
    size_t n_windows;
    double window_s[PLAN_WRITE_WINDOWS]; /* in the order in which they were seen */
    struct plan_written hours[PLAN_WEEK_HOURS][PLAN_WRITE_WINDOWS];
};

/** Returns an empty curve of which no bound is known; free it with free(). NULL: out of memory */
struct plan_writes *plan_writes_make(void);

/** Returns the hour of the week, 0 .. PLAN_WEEK_HOURS - 1. */
unsigned plan_week_hour(double time_s);

/** Returns that window in the hour of the week of that time, to be added to; NULL: there is no room
 * for it. */
struct plan_written *plan_writes_in(struct plan_writes *writes, double time_s, double window_s);

/** Adds a curve that was measured at @p time_s. Windows beyond PLAN_WRITE_WINDOWS are ignored. */
void plan_writes_add(struct plan_writes *writes, double time_s, const struct write_curve *curve);

/** Returns the number of curves, those of the most frequent window, of an hour of the week, or of
 * PLAN_ANY_HOUR. */
unsigned plan_writes_count(const struct plan_writes *writes, unsigned hour);

/** Returns the number of hours of the week of which there are curves. */
unsigned plan_writes_hours(const struct plan_writes *writes);

/** Makes the curve of an hour of the week, or of PLAN_ANY_HOUR. Its n is 0 if nothing is known. */
struct write_curve plan_writes_at(const struct plan_writes *writes, unsigned hour);
