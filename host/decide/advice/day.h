// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file day.h  The distribution of a working set over the last 24 hours, from the history's minutes
 * or hours.
 *
 * There is one sketch for each clock hour; the oldest is dropped as a whole, so the day covers 24
 * to 25 hours. A minute in the history has the distribution of the WSS and the mean of its upper
 * bound: so the p99 of the upper bound is taken to be the p99 of the WSS (within SKETCH_ERROR) plus
 * the mean distance of the bound from it.
 */
#pragma once

#include "measure/estimate/sketch.h"

#include <stdbool.h>

#define DECIDE_DAY_HOURS 25

/** Some 450 KiB: too large for the stack. */
struct decide_day {
    struct decide_hour {
        bool used;
        int64_t hour;         /* since 1970 */
        double above;         /* byte ms: distance of the upper bound from the WSS */
        struct sketch sketch; /* weighted by ms */
    } hours[DECIDE_DAY_HOURS];
    int64_t merged_hour; /* the last hour in the merged sketch */
    bool is_merged;
    struct sketch merged;
};

void decide_day_clear(struct decide_day *day);

/** Adds a minute or an hour that begins at @p start_s (Unix time); call in the order of time.
 * @param above_bytes  mean distance of the upper bound above the WSS */
void decide_day_add(struct decide_day *day, int64_t start_s, const struct sketch *sketch,
                    double above_bytes);

/** The p99 of the upper bound over the 24 h before @p now_s. Returns the seconds of records behind
 * it; 0: there are no records, and @p bytes is 0. */
double decide_day_p99(struct decide_day *day, double now_s, uint64_t *bytes);
