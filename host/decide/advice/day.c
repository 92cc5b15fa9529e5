// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/advice/day.h"

#include "base/bytes.h"

#include <math.h>

#define HOUR_S 3600

void decide_day_clear(struct decide_day *day)
{
    for (size_t i = 0; i < DECIDE_PAST_HOURS; i++)
        day->hours[i].used = false;
}

static int64_t hour_of(int64_t time_s)
{
    return (time_s >= 0 ? time_s : time_s - (HOUR_S - 1)) / HOUR_S;
}

static size_t slot_of(int64_t hour)
{
    int64_t slot = hour % DECIDE_PAST_HOURS;

    return (size_t)(slot < 0 ? slot + DECIDE_PAST_HOURS : slot);
}

static struct decide_hour *begin_hour(struct decide_day *day, int64_t hour)
{
    struct decide_hour *slot = &day->hours[slot_of(hour)];

    if (!slot->used || slot->hour != hour)
        *slot = (struct decide_hour){.used = true, .hour = hour};
    return slot;
}

void decide_day_add(struct decide_day *day, int64_t start_s, const struct sketch *sketch,
                    double above_bytes)
{
    struct decide_hour *slot = begin_hour(day, hour_of(start_s));

    slot->above += above_bytes * (double)sketch->total;
    slot->total_ms += sketch->total;
    slot->max_bytes = larger(slot->max_bytes, sketch->max);
}

void decide_day_add_used(struct decide_day *day, int64_t start_s, uint64_t used_bytes)
{
    struct decide_hour *slot = begin_hour(day, hour_of(start_s));

    if (used_bytes == DECIDE_UNKNOWN)
        return;
    slot->used_bytes = larger(slot->used_bytes, used_bytes);
}

struct sum {
    double above, total_ms;
    uint64_t bytes;
};

static void add_hour(struct sum *sum, const struct decide_hour *slot)
{
    sum->above += slot->above;
    sum->total_ms += (double)slot->total_ms;
    sum->bytes = larger(sum->bytes, slot->max_bytes);
}

static uint64_t highest(const struct sum *sum)
{
    return sum->total_ms > 0 ? sum->bytes + (uint64_t)(fmax(sum->above, 0) / sum->total_ms) : 0;
}

double decide_day_max(const struct decide_day *day, double now_s, uint64_t *bytes)
{
    int64_t hour = hour_of((int64_t)floor(now_s));
    struct sum sum = {0};

    for (int64_t h = hour; h > hour - DECIDE_DAY_HOURS; h--) {
        const struct decide_hour *slot = &day->hours[slot_of(h)];

        if (slot->used && slot->hour == h)
            add_hour(&sum, slot);
    }
    *bytes = highest(&sum);
    return sum.total_ms / 1000;
}

void decide_day_past(const struct decide_day *day, double now_s, struct decide_past *past)
{
    int64_t hour = hour_of((int64_t)floor(now_s));
    struct sum sum = {0};

    past->used_bytes = 0;
    for (size_t i = 0; i < DECIDE_PAST_HOURS; i++) {
        const struct decide_hour *slot = &day->hours[i];

        if (!slot->used || slot->hour <= hour - DECIDE_PAST_HOURS || slot->hour > hour)
            continue;
        add_hour(&sum, slot);
        past->used_bytes = larger(past->used_bytes, slot->used_bytes);
    }
    past->touched_bytes = highest(&sum);
    past->span_s = sum.total_ms / 1000;
}
