// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/plan/fleet.h"

#include "base/array.h"
#include "decide/plan/reading.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DAY_S 86400
/* A need before the fleet's time is far more if it is larger than any in it by this factor. */
#define MORE 1.1

/* Each step divides an hour. */
static const int steps[] = {60, 120, 180, 300, 600, 900, 1800, 3600};

int plan_step_s(double span_s, size_t n_guests)
{
    for (size_t i = 0; i + 1 < COUNT(steps); i++)
        if (ceil(span_s / steps[i]) * (double)n_guests <= (double)PLAN_SERIES_BYTES)
            return steps[i];
    return steps[COUNT(steps) - 1];
}

bool plan_is_step(double step_s)
{
    for (size_t i = 0; i < COUNT(steps); i++)
        if (step_s == steps[i])
            return true;
    return false;
}

unsigned plan_slot(double time_s)
{
    const double day = floor(time_s / DAY_S);
    const unsigned weekday = (unsigned)fmod(day + 4, 7); /* 1970-01-01 was a Thursday; 0: Sunday */
    const unsigned hour = (unsigned)((time_s - day * DAY_S) / 3600);

    return hour + (weekday == 0 || weekday == 6 ? PLAN_SLOTS / 2 : 0);
}

int plan_fleet_make(struct plan_fleet *fleet, size_t n_hosts, size_t n_guests, double from_s,
                    double to_s, int step_s)
{
    const double first_s = floor(from_s / step_s) * step_s;
    const size_t n_times = (size_t)ceil(fmax(to_s - first_s, step_s) / step_s);

    *fleet = (struct plan_fleet){
        .n_hosts = n_hosts,
        .n_guests = n_guests,
        .n_times = n_times,
        .from_s = first_s,
        .step_s = step_s,
        .size_margin = PLAN_SIZE_MARGIN,
        .hosts = calloc(n_hosts + 1, sizeof(*fleet->hosts)),
        .guests = calloc(n_guests + 1, sizeof(*fleet->guests)),
        .series = malloc(n_guests * n_times + 1),
        .slot_of = malloc(n_times),
        .past = calloc(n_hosts + 1, sizeof(*fleet->past)),
        .past_series = calloc(n_hosts + 1, n_times),
        .writes = calloc(n_guests + 1, sizeof(struct plan_writes *)),
    };
    if (!fleet->writes || !fleet->past || !fleet->past_series || !fleet->hosts || !fleet->guests ||
        !fleet->series || !fleet->slot_of) {
        plan_fleet_free(fleet);
        return -ENOMEM;
    }
    memset(fleet->series, PLAN_CODE_NONE, n_guests * n_times);
    for (size_t t = 0; t < n_times; t++)
        fleet->slot_of[t] = (uint8_t)plan_slot(first_s + (double)t * step_s);
    return 0;
}

void plan_ended_free(struct plan_fleet *fleet)
{
    for (size_t e = 0; e < fleet->n_ended; e++)
        free(fleet->ended[e].bytes);
    free(fleet->ended);
    fleet->ended = NULL;
    fleet->n_ended = 0;
}

void plan_fleet_free(struct plan_fleet *fleet)
{
    for (size_t g = 0; fleet->writes && g < fleet->n_guests; g++)
        free(fleet->writes[g]);
    free(fleet->writes);
    free(fleet->prices);
    free(fleet->hosts);
    free(fleet->guests);
    free(fleet->series);
    free(fleet->slot_of);
    free(fleet->past);
    free(fleet->past_series);
    plan_ended_free(fleet);
    *fleet = (struct plan_fleet){0};
}

void plan_fleet_drop_host(struct plan_fleet *fleet, size_t host)
{
    const size_t behind = --fleet->n_hosts - host;
    uint8_t *past = fleet->past_series + host * fleet->n_times;

    memmove(&fleet->hosts[host], &fleet->hosts[host + 1], behind * sizeof(*fleet->hosts));
    memmove(&fleet->past[host], &fleet->past[host + 1], behind * sizeof(*fleet->past));
    memmove(past, past + fleet->n_times, behind * fleet->n_times);
    for (size_t g = 0; g < fleet->n_guests; g++)
        fleet->guests[g].host -= fleet->guests[g].host > host;
}

uint8_t *plan_series(const struct plan_fleet *fleet, size_t guest)
{
    return fleet->series + guest * fleet->n_times;
}

double plan_unit(const struct plan_guest *guest)
{
    return (double)guest->ram_bytes / PLAN_CODE_MAX;
}

static void note_ended(struct plan_ended *ended, size_t first, size_t end, double bytes)
{
    const size_t last = ended->first + ended->n;

    for (size_t t = first > ended->first ? first : ended->first; t < end && t < last; t++)
        ended->bytes[t - ended->first] = fmaxf(ended->bytes[t - ended->first], (float)bytes);
}

void plan_note(struct plan_fleet *fleet, size_t guest, double time_s, double for_s, double bytes)
{
    const double last = (double)fleet->n_times;
    const double from = floor((time_s - fleet->from_s) / fleet->step_s);
    const double to = ceil((time_s + for_s - fleet->from_s) / fleet->step_s);
    const size_t first = (size_t)fmin(fmax(from, 0), last);
    const size_t end = (size_t)fmin(fmax(to, 0), last);

    if (guest >= fleet->n_guests) {
        note_ended(&fleet->ended[guest - fleet->n_guests], first, end, bytes);
        return;
    }

    if (bytes > MORE * (double)fleet->guests[guest].ram_bytes)
        plan_note_before(&fleet->guests[guest].before, time_s, bytes);

    const double code = ceil(bytes / plan_unit(&fleet->guests[guest]) * (1 - 1e-12));
    const uint8_t value = (uint8_t)fmin(fmax(code, 0), PLAN_CODE_MAX);
    uint8_t *series = plan_series(fleet, guest);

    for (size_t t = first; t < end; t++)
        if (series[t] == PLAN_CODE_NONE || series[t] < value)
            series[t] = value;
}

void plan_note_before(struct plan_before *before, double time_s, double bytes)
{
    if (bytes > before->bytes)
        *before = (struct plan_before){bytes, time_s};
}

bool plan_needed_more(const struct plan_before *before, double max_bytes)
{
    return before->bytes > MORE * max_bytes;
}

bool plan_is_partial(const struct plan_fleet *fleet)
{
    for (size_t h = 0; h < fleet->n_hosts; h++)
        if (fleet->hosts[h].partial)
            return true;
    return false;
}

bool plan_is_fixed(const struct plan_host *host)
{
    return host->stale || host->partial;
}

bool plan_is_short(double days)
{
    return round(days) < PLAN_DAYS_ENOUGH;
}

double plan_days(const struct plan_fleet *fleet)
{
    return (double)fleet->n_times * fleet->step_s / DAY_S;
}
