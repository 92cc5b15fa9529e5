// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/shortage.h"

#include <math.h>

void shortage_note(struct shortage *shortage, const struct host_need *need)
{
    const double capacity_bytes = shortage->capacity_bytes;
    const double error = need->rough ? SKETCH_ERROR : 0;

    shortage->low_s += need->bytes / (1 + error) > capacity_bytes ? BUCKET_MINUTE : 0;
    shortage->high_s += need->bytes / (1 - error) > capacity_bytes ? BUCKET_MINUTE : 0;
    shortage->rough |= need->rough;
    if (need->bytes <= capacity_bytes)
        return;
    if (need->start_s != shortage->until_s)
        shortage->since_s = need->start_s;
    shortage->until_s = need->start_s + BUCKET_MINUTE;
    shortage->short_s += BUCKET_MINUTE;
    shortage->longest_s = fmax(shortage->longest_s, shortage->until_s - shortage->since_s);
}

void shortage_note_hour(struct shortage *shortage, double share)
{
    shortage->until_s = 0;
    shortage->short_s += share * BUCKET_HOUR;
    shortage->high_s += BUCKET_HOUR;
    shortage->rough = true;
}
