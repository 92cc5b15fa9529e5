// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file day.h  The distribution of a working set over the last 24 hours, from what is left of
 * minutes or hours.
 *
 * A sketch of each clock hour; the oldest falls out as a whole, so the day has 24 to 25 of them.
 * What is left of a minute has the distribution of the WSS and the mean of its upper bound: so the
 * upper bound's p99 is taken to be the p99 of the WSS (within SKETCH_ERROR) and the mean distance
 * of the bound from it.
 */
#pragma once

#include "measure/estimate/sketch.h"

#include <stdbool.h>

#define DECIDE_DAY_HOURS 25

/** Some 450 KiB: not for the stack. */
struct decide_day {
    struct decide_hour {
        bool used;
        int64_t hour;         /* since 1970 */
        double above;         /* byte ms: the upper bound's distance */
        struct sketch sketch; /* weighted by ms */
    } hours[DECIDE_DAY_HOURS];
    int64_t merged_hour; /* that merged ends with */
    bool is_merged;
    struct sketch merged;
};

void decide_day_clear(struct decide_day *day);

/** Adds a minute or an hour that begins at @p start_s (Unix time); in the order of time.
 *  @param above_bytes  by how much the upper bound was above the WSS, in the mean */
void decide_day_add(struct decide_day *day, int64_t start_s, const struct sketch *sketch,
                    double above_bytes);

/** The p99 of the upper bound over the 24 h before @p now_s. Returns the time that it stands on,
 * seconds; 0: none, and
 *  @p bytes is 0. */
double decide_day_p99(struct decide_day *day, double now_s, uint64_t *bytes);
