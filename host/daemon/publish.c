// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file publish.c  See publish.h. */
#include "daemon/publish.h"

#include "base/bytes.h"

#include <math.h>
#include <string.h>

#define SHARE 0.01

/* @p small: bytes that do not matter. */
static bool window_is_news(const struct window_record *told, const struct window_record *now,
                           double small)
{
    double width = (double)told->wss_high_bytes - (double)told->unit_low_bytes;
    double width_now = (double)now->wss_high_bytes - (double)now->unit_low_bytes;
    bool outside = now->wss_bytes < told->unit_low_bytes || now->wss_bytes > told->wss_high_bytes;

    if (told->window_s != now->window_s)
        return true;
    if (outside &&
        (double)distance(now->wss_bytes, told->wss_bytes) > SHARE * (double)told->wss_bytes)
        return true;
    return fabs(width_now - width) > small && (width_now * 2 < width || width_now > 2 * width);
}

static bool is_old(const struct timespec *told, const struct timespec *now)
{
    double passed_s = (double)(now->tv_sec - told->tv_sec) +
                      (double)(now->tv_nsec - told->tv_nsec) / 1e9;

    return passed_s < 0 || passed_s >= PUBLISH_AGAIN_S;
}

bool publish_is_news(const struct sample_record *told, const struct sample_record *now)
{
    if (!told || is_old(&told->time, &now->time) || told->n_windows != now->n_windows ||
        strcmp(told->method, now->method) != 0 ||
        ((told->flags ^ now->flags) & ~(unsigned)FLAG_NEW_PANEL))
        return true;
    if ((double)distance(told->ram_bytes, now->ram_bytes) > SHARE * (double)told->ram_bytes ||
        (double)distance(told->resident_bytes, now->resident_bytes) >
            SHARE * (double)told->ram_bytes)
        return true;
    for (size_t w = 0; w < now->n_windows; w++)
        if (window_is_news(&told->windows[w], &now->windows[w],
                           SHARE * (double)now->resident_bytes))
            return true;
    return false;
}
