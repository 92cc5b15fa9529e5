// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file day.c  See day.h. */
#include "decide/advice/day.h"

#include <math.h>

#define HOUR_S 3600

void decide_day_clear(struct decide_day *day)
{
    for (size_t i = 0; i < DECIDE_DAY_HOURS; i++)
        day->hours[i].used = false;
    day->is_merged = false;
}

static int64_t hour_of(int64_t time_s)
{
    return (time_s >= 0 ? time_s : time_s - (HOUR_S - 1)) / HOUR_S;
}

static struct decide_hour *slot_of(struct decide_day *day, int64_t hour)
{
    int64_t slot = hour % DECIDE_DAY_HOURS;

    return &day->hours[slot < 0 ? slot + DECIDE_DAY_HOURS : slot];
}

void decide_day_add(struct decide_day *day, int64_t start_s, const struct sketch *sketch,
                    double above_bytes)
{
    int64_t hour = hour_of(start_s);
    struct decide_hour *slot = slot_of(day, hour);

    if (!slot->used || slot->hour != hour) {
        *slot = (struct decide_hour){.used = true, .hour = hour};
        sketch_clear(&slot->sketch);
        day->is_merged = false;
    }
    sketch_merge(&slot->sketch, sketch);
    slot->above += above_bytes * (double)sketch->total;
    if (day->is_merged)
        sketch_merge(&day->merged, sketch);
}

static bool is_within(const struct decide_hour *slot, int64_t hour)
{
    return slot->used && slot->hour > hour - DECIDE_DAY_HOURS && slot->hour <= hour;
}

static void merge(struct decide_day *day, int64_t hour)
{
    if (day->is_merged && day->merged_hour == hour)
        return;
    sketch_clear(&day->merged);
    for (size_t i = 0; i < DECIDE_DAY_HOURS; i++)
        if (is_within(&day->hours[i], hour))
            sketch_merge(&day->merged, &day->hours[i].sketch);
    day->is_merged = true;
    day->merged_hour = hour;
}

double decide_day_p99(struct decide_day *day, double now_s, uint64_t *bytes)
{
    int64_t hour = hour_of((int64_t)floor(now_s));
    double above = 0;

    merge(day, hour);
    *bytes = 0;
    if (day->merged.total == 0)
        return 0;
    for (size_t i = 0; i < DECIDE_DAY_HOURS; i++)
        if (is_within(&day->hours[i], hour))
            above += day->hours[i].above;
    above = fmax(above, 0) / (double)day->merged.total;
    *bytes = (uint64_t)(sketch_quantile(&day->merged, 0.99) + above);
    return (double)day->merged.total / 1000;
}
