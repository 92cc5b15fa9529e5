// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file shortage.c  See shortage.h. */
#include "keep/shortage.h"

#include <math.h>

void shortage_note(struct report *report, struct shortage_episode *episode,
                   const struct host_need *need)
{
    const double capacity_bytes = (double)report->options.capacity_bytes;
    const double error = need->rough ? SKETCH_ERROR : 0;

    report->short_low_s += need->bytes / (1 + error) > capacity_bytes ? BUCKET_MINUTE : 0;
    report->short_high_s += need->bytes / (1 - error) > capacity_bytes ? BUCKET_MINUTE : 0;
    report->short_rough |= need->rough;
    if (need->bytes <= capacity_bytes)
        return;
    if (need->start_s != episode->until_s)
        episode->since_s = need->start_s;
    episode->until_s = need->start_s + BUCKET_MINUTE;
    report->short_s += BUCKET_MINUTE;
    report->longest_short_s = fmax(report->longest_short_s, episode->until_s - episode->since_s);
}

void shortage_note_hour(struct report *report, struct shortage_episode *episode, double share)
{
    *episode = (struct shortage_episode){0};
    report->short_s += share * BUCKET_HOUR;
    report->short_high_s += BUCKET_HOUR;
    report->short_rough = true;
}
