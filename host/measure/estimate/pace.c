// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/estimate/pace.h"

#include <math.h>
#include <stdbool.h>

struct pace pace_start(double base_s, double max_s)
{
    return (struct pace){.base_s = base_s, .max_s = fmax(base_s, max_s), .period_s = base_s};
}

void pace_limit(struct pace *pace, double base_s, double max_s)
{
    pace->base_s = base_s;
    pace->max_s = fmax(base_s, max_s);
    pace->period_s = fmin(fmax(pace->period_s, base_s), pace->max_s);
}

void pace_forget(struct pace *pace)
{
    *pace = pace_start(pace->base_s, pace->max_s);
}

double pace_next(struct pace *pace, uint64_t low_bytes, uint64_t high_bytes, uint64_t slack_bytes)
{
    bool first = pace->high_bytes == 0;
    bool overlap = low_bytes <= pace->high_bytes + slack_bytes &&
                   pace->low_bytes <= high_bytes + slack_bytes;

    if (!first)
        pace->period_s = overlap ? fmin(2 * pace->period_s, pace->max_s) : pace->base_s;
    pace->low_bytes = low_bytes;
    pace->high_bytes = high_bytes;
    return pace->period_s;
}
