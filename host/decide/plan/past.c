// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/plan/past.h"

#include "base/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DAY_S 86400.0

int plan_ended_make(struct plan_fleet *fleet, size_t n)
{
    fleet->ended = calloc(n + 1, sizeof(*fleet->ended));
    fleet->n_ended = fleet->ended ? n : 0;
    return fleet->ended ? 0 : -ENOMEM;
}

static size_t cell_of(const struct plan_fleet *fleet, double time_s)
{
    const double cell = (time_s - fleet->from_s) / fleet->step_s;

    return (size_t)fmin(fmax(cell, 0), (double)fleet->n_times);
}

int plan_ended_span(struct plan_fleet *fleet, size_t e, size_t host, double from_s, double to_s)
{
    struct plan_ended *ended = &fleet->ended[e];

    ended->host = host;
    ended->first = cell_of(fleet, floor(from_s / fleet->step_s) * fleet->step_s);
    ended->n = cell_of(fleet, to_s + fleet->step_s) - ended->first;
    ended->bytes = malloc((ended->n + 1) * sizeof(*ended->bytes));
    for (size_t t = 0; ended->bytes && t < ended->n; t++)
        ended->bytes[t] = -1;
    return ended->bytes ? 0 : -ENOMEM;
}

/* Returns true if anything is known of the guest; *first: its first known cell. */
static bool add_ended(const struct plan_ended *ended, float *joint, size_t *first)
{
    bool any = false;

    for (size_t t = 0; t < ended->n; t++) {
        if (ended->bytes[t] < 0)
            continue;
        if (!any)
            *first = ended->first + t;
        any = true;
        joint[ended->first + t] += ended->bytes[t];
    }
    return any;
}

static void sum_host(struct plan_fleet *fleet, size_t host, float *joint)
{
    struct plan_past *past = &fleet->past[host];
    size_t earliest = fleet->n_times;
    size_t first;

    memset(joint, 0, fleet->n_times * sizeof(*joint));
    for (size_t e = 0; e < fleet->n_ended; e++)
        if (fleet->ended[e].host == host && add_ended(&fleet->ended[e], joint, &first)) {
            past->n_guests++;
            earliest = first < earliest ? first : earliest;
        }
    for (size_t t = 0; t < fleet->n_times; t++)
        past->max_bytes = fmax(past->max_bytes, joint[t]);
    past->days = (double)(fleet->n_times - earliest) * fleet->step_s / DAY_S;
    past->unit_bytes = past->max_bytes / PLAN_CODE_MAX;
    for (size_t t = 0; past->n_guests > 0 && t < earliest; t++)
        joint[t] = -1;
    plan_past_write(fleet, host, joint);
}

int plan_past_sum(struct plan_fleet *fleet)
{
    cleanup_free float *joint = malloc(fleet->n_times * sizeof(*joint) + 1);

    if (!joint)
        return -ENOMEM;
    for (size_t h = 0; fleet->n_ended > 0 && h < fleet->n_hosts; h++)
        sum_host(fleet, h, joint);
    plan_ended_free(fleet);
    return 0;
}

uint8_t *plan_past_series(const struct plan_fleet *fleet, size_t host)
{
    return fleet->past_series + host * fleet->n_times;
}

void plan_past_read(const struct plan_fleet *fleet, size_t host, float *bytes)
{
    const uint8_t *series = plan_past_series(fleet, host);

    for (size_t t = 0; t < fleet->n_times; t++)
        bytes[t] = series[t] == PLAN_CODE_NONE ? -1
                                               : series[t] * (float)fleet->past[host].unit_bytes;
}

void plan_past_write(struct plan_fleet *fleet, size_t host, const float *bytes)
{
    const double unit = fleet->past[host].unit_bytes;
    uint8_t *series = plan_past_series(fleet, host);

    for (size_t t = 0; t < fleet->n_times; t++)
        series[t] = bytes[t] < 0 ? PLAN_CODE_NONE
                    : unit > 0   ? (uint8_t)fmin(ceil(bytes[t] / unit * (1 - 1e-6)), PLAN_CODE_MAX)
                                 : 0;
}
