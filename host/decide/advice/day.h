// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file day.h  The largest working set of the last 24 hours, and what was needed in the last month,
 * from the history's minutes or hours.
 *
 * It is the maximum and no quantile: a job of three minutes each night is a fifth of a percent of
 * the day, and the guest is killed without the memory that it needs. There is one slot for each
 * clock hour; the oldest is dropped as a whole, so the day covers 24 to 25 hours. A minute in the
 * history has the largest WSS and the mean of its upper bound: so the maximum of the upper bound is
 * taken to be that of the WSS plus the mean distance of the bound from it over the day.
 */
#pragma once

#include "decide/advice/decide.h"
#include "measure/estimate/sketch.h"

#include <stdbool.h>

#define DECIDE_DAY_HOURS 25
#define DECIDE_PAST_HOURS (36 * 24 + 1)

struct decide_day {
    struct decide_hour {
        bool used;
        int64_t hour;        /* since 1970 */
        double above;        /* byte ms: distance of the upper bound from the WSS */
        uint64_t total_ms;   /* of records */
        uint64_t max_bytes;  /* largest WSS */
        uint64_t used_bytes; /* largest that the guest reported; 0: not reported */
    } hours[DECIDE_PAST_HOURS];
};

void decide_day_clear(struct decide_day *day);

/** Adds a minute or an hour that begins at @p start_s (Unix time); call in the order of time.
 * @param above_bytes  mean distance of the upper bound above the WSS */
void decide_day_add(struct decide_day *day, int64_t start_s, const struct sketch *sketch,
                    double above_bytes);

/** Adds what the guest reported of that minute or hour; AGENT_UNKNOWN: not reported. */
void decide_day_add_used(struct decide_day *day, int64_t start_s, uint64_t used_bytes);

/** Fills in what the guest has needed in the DECIDE_PAST_S before @p now_s; not the backtest. */
void decide_day_past(const struct decide_day *day, double now_s, struct decide_past *past);

/** The largest upper bound over the 24 h before @p now_s. Returns the seconds of records behind it;
 * 0: there are no records, and @p bytes is 0. */
double decide_day_max(const struct decide_day *day, double now_s, uint64_t *bytes);
