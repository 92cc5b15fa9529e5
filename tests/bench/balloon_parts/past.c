// SPDX-License-Identifier: LGPL-2.1-or-later
#include "past.h"

#include "base/bytes.h"

#include <string.h>

#define MINUTE_S 60
#define HOUR_S 3600

void past_begin(struct sim_past *past)
{
    struct decide_policy policy = decide_policy_default;

    memset(past, 0, sizeof(*past));
    policy.past.day_min_s = 24 * HOUR_S;
    backtest_begin(&past->backtest, &policy, HOUR_S, MINUTE_S, past->pending);
}

static uint64_t middle(const struct decide_wss *wss)
{
    return wss->low_bytes + (wss->high_bytes - wss->low_bytes) / 2;
}

static void note_minute(struct sim_past *past, int64_t start_s, const struct decide_input *input)
{
    static struct sketch minute = {.total = MINUTE_S * 1000};
    const struct decide_guest *guest = &input->guest;
    const uint64_t wss = middle(&input->mid_wss);

    minute.max = wss;
    decide_day_add(&past->day, start_s, &minute, (double)(input->mid_wss.high_bytes - wss));
    if (guest->reported)
        decide_day_add_used(&past->day, start_s, less(guest->total_bytes, guest->available_bytes));
}

static void sum_week(struct sim_past *past, double now_s)
{
    decide_day_past(&past->day, now_s, &past->known);
    past->known.tested = true;
    past->known.scored = past->known.exceeded = 0;
    past->known.worst_bytes = past->backtest.result.worst_bytes;
    for (size_t i = 0; i < PAST_WEEK_HOURS; i++) {
        past->known.scored += past->hours[i].scored;
        past->known.exceeded += past->hours[i].exceeded;
    }
}

void past_see(struct sim_past *past, double now_s, struct decide_input *input)
{
    const int64_t start_s = (int64_t)now_s - MINUTE_S;
    const struct backtest_result was = past->backtest.result;
    const size_t hour = (size_t)(start_s / HOUR_S) % PAST_WEEK_HOURS;
    struct decide_input then = *input;

    note_minute(past, start_s, input);
    decide_day_past(&past->day, now_s, &then.past);
    backtest_see(&past->backtest, start_s, &then, middle(&input->long_wss));
    if (start_s % HOUR_S == 0)
        past->hours[hour].scored = past->hours[hour].exceeded = 0;
    past->hours[hour].scored += past->backtest.result.scored - was.scored;
    past->hours[hour].exceeded += past->backtest.result.exceeded - was.exceeded;
    if ((int64_t)now_s % HOUR_S == 0)
        sum_week(past, now_s);
    past_know(past, input);
}

void past_know(const struct sim_past *past, struct decide_input *input)
{
    input->past = past->known;
}
