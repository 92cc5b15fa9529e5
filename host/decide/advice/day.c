// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file day.c  See day.h. */
#include "decide/advice/day.h"

#include "base/bytes.h"

#include <math.h>

#define HOUR_S 3600

void decide_day_clear(struct decide_day *day)
{
    for (size_t i = 0; i < DECIDE_DAY_HOURS; i++)
        day->hours[i].used = false;
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

    if (!slot->used || slot->hour != hour)
        *slot = (struct decide_hour){.used = true, .hour = hour};
    slot->above += above_bytes * (double)sketch->total;
    slot->total_ms += sketch->total;
    slot->max_bytes = larger(slot->max_bytes, sketch->max);
}

static bool is_within(const struct decide_hour *slot, int64_t hour)
{
    return slot->used && slot->hour > hour - DECIDE_DAY_HOURS && slot->hour <= hour;
}

double decide_day_max(const struct decide_day *day, double now_s, uint64_t *bytes)
{
    int64_t hour = hour_of((int64_t)floor(now_s));
    double above = 0, total_ms = 0;

    *bytes = 0;
    for (size_t i = 0; i < DECIDE_DAY_HOURS; i++) {
        if (!is_within(&day->hours[i], hour))
            continue;
        above += day->hours[i].above;
        total_ms += (double)day->hours[i].total_ms;
        *bytes = larger(*bytes, day->hours[i].max_bytes);
    }
    if (total_ms > 0)
        *bytes += (uint64_t)(fmax(above, 0) / total_ms);
    return total_ms / 1000;
}
