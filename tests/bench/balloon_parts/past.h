// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file past.h  The past of a simulated guest, as vmwssd keeps it, and the backtest of the last
 * week, as vmwss-balloond makes it of that: minute by minute. */
#pragma once

#include "model.h"

#include "decide/advice/backtest.h"
#include "decide/advice/day.h"

#define PAST_HORIZON_MINUTES 60
#define PAST_WEEK_HOURS (7 * 24)

struct sim_past {
    struct decide_day day;
    struct backtest backtest;
    struct backtest_pending pending[PAST_HORIZON_MINUTES + 1];
    struct {
        uint64_t scored, exceeded;
    } hours[PAST_WEEK_HOURS]; /* of the last week, by the hour */
    struct decide_past known; /* as of the last hour */
};

void past_begin(struct sim_past *past);

/** Takes in a minute of which @p input is the end; then puts what is known into it. Call once a
 * minute, and past_know() at all other times. */
void past_see(struct sim_past *past, double now_s, struct decide_input *input);
void past_know(const struct sim_past *past, struct decide_input *input);
