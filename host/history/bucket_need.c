// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/bucket_need.h"

#include <math.h>

/* A record is late after its period times this factor. */
#define LATE 1.1

double bucket_window_need(const struct bucket *bucket, size_t w)
{
    const struct bucket_window *window = &bucket->windows[w];

    return fmin(fmax(window->wss_high, (double)window->sketch.max), bucket->summary.ram_bytes);
}

double bucket_period_s(const struct bucket *bucket)
{
    return (double)bucket->period_ms / 1000 / (double)bucket->records;
}

double bucket_stands_s(double period_s)
{
    return LATE * period_s;
}

double bucket_lasts_s(double period_s)
{
    return period_s > BUCKET_MINUTE ? bucket_stands_s(period_s) : BUCKET_MINUTE;
}

bool bucket_need(const struct bucket *bucket, double *bytes)
{
    if (bucket->records == 0)
        return false;
    if (bucket->n_windows == 0 && !(bucket->summary.flags & FLAG_NOT_MEASURED))
        return false;
    *bytes = bucket->n_windows == 0
                 ? fmin(bucket->summary.resident_bytes, bucket->summary.ram_bytes)
                 : bucket_window_need(bucket, 0);
    return true;
}

const struct bucket_window *bucket_size(const struct bucket *bucket, uint64_t *bytes)
{
    const struct bucket_window *longest = NULL;
    double spread;

    for (size_t w = 0; w < bucket->n_windows; w++)
        if (bucket->windows[w].window_s <= BUCKET_HOUR + SAME_S)
            longest = &bucket->windows[w];
    if (!longest)
        return NULL;
    spread = longest->wss > 0 ? fmax(longest->wss_high / longest->wss, 1) : 1;
    *bytes = (uint64_t)fmin(fmax((double)longest->sketch.max * spread, longest->wss_high),
                            bucket->summary.ram_bytes);
    return longest;
}
