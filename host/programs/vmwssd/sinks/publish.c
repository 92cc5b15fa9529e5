// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwssd/sinks/publish.h"

#include "base/bytes.h"

#include <math.h>
#include <string.h>

#define SHARE 0.01

/* @p small: a difference in bytes that does not matter. */
static bool window_is_news(const struct window_record *published, const struct window_record *now,
                           double small)
{
    double width = (double)published->wss_high_bytes - (double)published->unit_low_bytes;
    double width_now = (double)now->wss_high_bytes - (double)now->unit_low_bytes;
    bool outside = now->wss_bytes < published->unit_low_bytes ||
                   now->wss_bytes > published->wss_high_bytes;

    if (published->window_s != now->window_s)
        return true;
    if (outside && (double)distance(now->wss_bytes, published->wss_bytes) >
                       SHARE * (double)published->wss_bytes)
        return true;
    return fabs(width_now - width) > small && (width_now * 2 < width || width_now > 2 * width);
}

static bool is_old(const struct timespec *published, const struct timespec *now)
{
    double passed_s = (double)(now->tv_sec - published->tv_sec) +
                      (double)(now->tv_nsec - published->tv_nsec) / 1e9;

    return passed_s < 0 || passed_s >= PUBLISH_AGAIN_S;
}

bool publish_is_news(const struct sample_record *published, const struct sample_record *now)
{
    if (!published || is_old(&published->time, &now->time) ||
        published->n_windows != now->n_windows || strcmp(published->method, now->method) != 0 ||
        ((published->flags ^ now->flags) & ~(unsigned)FLAG_NEW_PANEL))
        return true;
    if ((double)distance(published->ram_bytes, now->ram_bytes) >
            SHARE * (double)published->ram_bytes ||
        (double)distance(published->resident_bytes, now->resident_bytes) >
            SHARE * (double)published->ram_bytes)
        return true;
    for (size_t w = 0; w < now->n_windows; w++)
        if (window_is_news(&published->windows[w], &now->windows[w],
                           SHARE * (double)now->resident_bytes))
            return true;
    return false;
}
