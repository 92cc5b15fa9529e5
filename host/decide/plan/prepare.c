// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/plan/prepare.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "decide/plan/past.h"
#include "decide/plan/trend.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DAY_S 86400.0
#define CODES (PLAN_CODE_MAX + 1)
/* A guest that touches this share of its RAM may need more than it has: no measurement can show how
 * much. */
#define SIZE_FULL 0.95
#define SIZE_MAX_GROWTH 4

/* How often a series has each code. */
struct codes {
    uint32_t n[CODES];
    uint32_t total;
};

static void count_codes(struct codes *codes, const uint8_t *series, size_t n)
{
    memset(codes, 0, sizeof(*codes));
    for (size_t t = 0; t < n; t++)
        if (series[t] != PLAN_CODE_NONE) {
            codes->n[series[t]]++;
            codes->total++;
        }
}

static unsigned quantile(const struct codes *codes, double q)
{
    const double wanted = q * codes->total * (1 - 1e-12);
    double seen = 0;
    unsigned code = 0;

    for (unsigned c = 0; c < CODES; c++) {
        if (codes->n[c] == 0)
            continue;
        seen += codes->n[c];
        code = c;
        if (seen >= wanted)
            break;
    }
    return code;
}

/* --- the profile ------------------------------------------------------------------------------ */

/* Returns the share of the known steps with a larger code, 0 .. 1. */
static double share_above(const struct codes *codes, double code)
{
    double above = 0;

    for (unsigned c = 0; c < CODES; c++)
        above += c > code ? codes->n[c] : 0;
    return codes->total > 0 ? above / codes->total : 0;
}

/* The p99 of each day; NAN if most of the day is unknown. */
static void daily_p99(const struct plan_fleet *fleet, size_t guest, double *day, size_t n_days)
{
    const size_t each = (size_t)(DAY_S / fleet->step_s);
    const uint8_t *series = plan_series(fleet, guest);
    struct codes codes;

    for (size_t d = 0; d < n_days; d++) {
        count_codes(&codes, series + d * each, each);
        day[d] = codes.total < each / 2 ? NAN
                                        : quantile(&codes, 0.99) * plan_unit(&fleet->guests[guest]);
    }
}

static void profile(const struct plan_fleet *fleet, size_t g, double *day, size_t n_days)
{
    struct plan_guest *guest = &fleet->guests[g];
    const double unit = plan_unit(guest);
    struct codes codes;
    struct trend trend;

    count_codes(&codes, plan_series(fleet, g), fleet->n_times);
    guest->days = (double)codes.total * fleet->step_s / DAY_S;
    guest->p50_bytes = quantile(&codes, 0.50) * unit;
    guest->p95_bytes = quantile(&codes, 0.95) * unit;
    guest->p99_bytes = quantile(&codes, 0.99) * unit;
    guest->max_bytes = quantile(&codes, 1) * unit;
    guest->right_size_bytes = plan_right_size(guest, fleet->size_margin);
    guest->right_size_risk = share_above(&codes, guest->right_size_bytes / unit);
    daily_p99(fleet, g, day, n_days);
    trend = trend_of(day, n_days);
    guest->trend_bytes_day = trend.pairs > 0 && trend.low > 0 ? trend.slope : 0;
}

/* The code at the same time of another week, the nearest first, or else of another day. */
static uint8_t likeness(const uint8_t *known, size_t n, size_t t, size_t each)
{
    static const size_t strides[] = {7, 1};

    for (size_t i = 0; i < COUNT(strides); i++)
        for (size_t by = strides[i] * each; by <= t || t + by < n; by += strides[i] * each) {
            if (by <= t && known[t - by] != PLAN_CODE_NONE)
                return known[t - by];
            if (t + by < n && known[t + by] != PLAN_CODE_NONE)
                return known[t + by];
        }
    return PLAN_CODE_NONE;
}

/* Fills in unknown codes; @p known has room for a copy of the series. */
static void fill(const struct plan_fleet *fleet, uint8_t *series, uint8_t otherwise, uint8_t *known)
{
    const size_t each = (size_t)(DAY_S / fleet->step_s);

    memcpy(known, series, fleet->n_times);
    for (size_t t = 0; t < fleet->n_times; t++) {
        if (known[t] == PLAN_CODE_NONE)
            series[t] = likeness(known, fleet->n_times, t, each);
        if (series[t] == PLAN_CODE_NONE)
            series[t] = otherwise;
    }
}

/* Fills gaps with the need of guests that have ended, as far as these needed as much: past.h. */
static void fill_guest(const struct plan_fleet *fleet, size_t g, uint8_t *known, float *past)
{
    const struct plan_guest *guest = &fleet->guests[g];
    const uint8_t p99 = (uint8_t)lround(guest->p99_bytes / plan_unit(guest));
    uint8_t *series = plan_series(fleet, g);

    fill(fleet, series, guest->days > 0 ? p99 : PLAN_CODE_MAX, known);
    for (size_t t = 0; t < fleet->n_times; t++)
        if (known[t] == PLAN_CODE_NONE && past[t] > 0)
            past[t] = fmaxf(past[t] - series[t] * (float)plan_unit(guest), 0);
}

static void fill_host(struct plan_fleet *fleet, size_t host, uint8_t *known, float *past)
{
    plan_past_read(fleet, host, past);
    for (size_t g = 0; g < fleet->n_guests; g++)
        if (fleet->guests[g].host == host)
            fill_guest(fleet, g, known, past);
    plan_past_write(fleet, host, past);
    fill(fleet, plan_past_series(fleet, host), PLAN_CODE_MAX, known);
}

/* A fleet with a long history may have a host with a short one. */
static void set_days(struct plan_fleet *fleet)
{
    double most = 0;

    for (size_t h = 0; h < fleet->n_hosts; h++)
        fleet->hosts[h].days = fleet->past[h].n_guests > 0 ? fleet->past[h].days : -1;
    for (size_t g = 0; g < fleet->n_guests; g++) {
        struct plan_host *host = &fleet->hosts[fleet->guests[g].host];

        host->days = fmax(host->days, fleet->guests[g].days);
        most = fmax(most, fleet->guests[g].days);
    }
    for (size_t h = 0; h < fleet->n_hosts; h++)
        if (fleet->hosts[h].days < 0)
            fleet->hosts[h].days = most;
}

int plan_profile(struct plan_fleet *fleet)
{
    const size_t n_days = (size_t)plan_days(fleet);
    cleanup_free double *day = malloc((n_days + 1) * sizeof(*day));
    cleanup_free uint8_t *known = malloc(fleet->n_times);
    cleanup_free float *past = malloc(fleet->n_times * sizeof(*past));

    if (!day || !known || !past)
        return -ENOMEM;
    for (size_t g = 0; g < fleet->n_guests; g++)
        profile(fleet, g, day, n_days);
    for (size_t h = 0; h < fleet->n_hosts; h++)
        fill_host(fleet, h, known, past);
    set_days(fleet);
    return 0;
}

/* --- series used in planning ------------------------------------------------------------------ */

static double factor(const struct plan_guest *guest, const struct plan_options *options)
{
    const double growth = guest->trend_bytes_day * options->horizon_s / DAY_S;

    if (options->bare)
        return 1;
    return (1 + 1 / fmax(guest->days, 1.0 / 24)) * (1 + growth / fmax(guest->p99_bytes, 1));
}

/* Scales every code by the guest's factor. */
static void scale(const struct plan_guest *guest, uint8_t *series, size_t n)
{
    uint8_t planned[CODES];

    for (unsigned c = 0; c < CODES; c++)
        planned[c] = (uint8_t)fmin(ceil(c * guest->factor * (1 - 1e-12)), PLAN_CODE_MAX);
    for (size_t t = 0; t < n; t++)
        series[t] = planned[series[t]];
}

static void summarise(const struct codes *codes, double unit, struct plan_slot *slot)
{
    double sum = 0;
    double squares = 0;

    for (unsigned c = 0; c < CODES; c++) {
        sum += (double)codes->n[c] * c;
        squares += (double)codes->n[c] * c * c;
    }

    const double total = codes->total;
    const double mean = total > 0 ? sum / total : 0;

    slot->p95_bytes = (float)(quantile(codes, 0.95) * unit);
    slot->mean_bytes = (float)(mean * unit);
    slot->variance = total > 0 ? (float)(fmax(squares / total - mean * mean, 0) * unit * unit) : 0;
}

void plan_fill_slots(const struct plan_fleet *fleet, const uint8_t *series, double unit,
                     struct plan_slot slots[PLAN_SLOTS])
{
    struct codes all[PLAN_SLOTS] = {0}; /* 48 KiB */

    for (size_t t = 0; t < fleet->n_times; t++) {
        struct codes *codes = &all[fleet->slot_of[t]];

        codes->n[series[t]]++;
        codes->total++;
    }
    for (size_t s = 0; s < PLAN_SLOTS; s++)
        summarise(&all[s], unit, &slots[s]);
}

/* Without margins: these guests do not grow any more, and had what RAM they had. In each slot their
 * largest need counts: they are there or not, and deviations of that say more than they can need.
 */
static void prepare_past(struct plan_fleet *fleet, size_t host, const struct plan_options *options)
{
    struct plan_past *past = &fleet->past[host];
    const uint8_t *series = plan_past_series(fleet, host);

    past->left_out = options->running_only;
    for (size_t t = 0; t < fleet->n_times; t++) {
        struct plan_slot *slot = &past->slots[fleet->slot_of[t]];

        slot->mean_bytes = fmaxf(slot->mean_bytes, series[t] * (float)past->unit_bytes);
        slot->p95_bytes = slot->mean_bytes;
    }
}

void plan_prepare(struct plan_fleet *fleet, const struct plan_options *options)
{
    for (size_t g = 0; g < fleet->n_guests; g++) {
        struct plan_guest *guest = &fleet->guests[g];

        guest->factor = factor(guest, options);
        scale(guest, plan_series(fleet, g), fleet->n_times);
        plan_fill_slots(fleet, plan_series(fleet, g), plan_unit(guest), guest->slots);
    }
    for (size_t h = 0; h < fleet->n_hosts; h++)
        if (fleet->past[h].n_guests > 0)
            prepare_past(fleet, h, options);
}

double plan_z(double risk)
{
    double low = -8;
    double high = 8;

    for (int i = 0; i < 60; i++) {
        const double z = (low + high) / 2;

        if (erfc(z / M_SQRT2) / 2 > risk)
            low = z;
        else
            high = z;
    }
    return high;
}

double plan_right_size(const struct plan_guest *guest, double margin)
{
    const double ram = (double)guest->ram_bytes;
    double size = fmax((1 + margin) * guest->size_bytes, (double)guest->used_bytes);

    if (guest->size_bytes <= 0 || guest->days <= 0)
        return 0;
    size *= 1 + 1 / guest->days;
    if (guest->size_bytes >= SIZE_FULL * ram)
        size = fmax(size, ram);
    return fmin(size, SIZE_MAX_GROWTH * ram);
}
