// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/plan/capacity.h"

#include "base/cleanup.h"
#include "base/compare.h"
#include "base/random.h"
#include "measure/estimate/packing.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Number of existing guests to imitate, and of synthetic hosts to fill. */
#define LIKENESSES 64
#define TRIALS 200
#define TRIALS_WORSE 0.05

/* --- a new guest ------------------------------------------------------------------------------ */

/* Slots of a new guest that is each of the fleet's guests with equal probability, scaled. */
static void mix_slots(const struct plan_fleet *fleet, double ram_bytes, struct plan_slot *slots)
{
    for (size_t s = 0; s < PLAN_SLOTS; s++) {
        double mean = 0;
        double squares = 0;
        double p95 = 0;

        for (size_t g = 0; g < fleet->n_guests; g++) {
            const struct plan_guest *guest = &fleet->guests[g];
            const double scale = ram_bytes / (double)guest->ram_bytes;
            const double own = guest->slots[s].mean_bytes * scale;

            mean += own;
            squares += guest->slots[s].variance * scale * scale + own * own;
            p95 = fmax(p95, guest->slots[s].p95_bytes * scale);
        }
        mean /= (double)fleet->n_guests;
        squares /= (double)fleet->n_guests;
        slots[s] = (struct plan_slot){(float)p95, (float)mean,
                                      (float)fmax(squares - mean * mean, 0)};
    }
}

/* Returns the CPUs of a new guest: as many for its RAM as the fleet's guests have for theirs. */
static double cpus_of(const struct plan_fleet *fleet, double ram_bytes)
{
    double cpus = 0;
    double bytes = 0;

    for (size_t g = 0; g < fleet->n_guests; g++)
        if (!isnan(fleet->guests[g].cpus)) {
            cpus += fleet->guests[g].cpus;
            bytes += (double)fleet->guests[g].ram_bytes;
        }
    return bytes > 0 ? cpus / bytes * ram_bytes : 0;
}

struct plan_shape plan_new_guest(const struct plan_fleet *fleet, double ram_bytes,
                                 uint64_t *random_state, uint8_t *series, struct plan_slot *slots)
{
    for (size_t t = 0; t < fleet->n_times; t++)
        series[t] = plan_series(fleet, random_below(random_state, fleet->n_guests))[t];
    mix_slots(fleet, ram_bytes, slots);
    return (struct plan_shape){
        .series = series,
        .unit_bytes = ram_bytes / PLAN_CODE_MAX,
        .ram_bytes = ram_bytes,
        .cpus = cpus_of(fleet, ram_bytes),
        .slots = slots,
    };
}

/* --- number of new guests --------------------------------------------------------------------- */

/* Chooses the host's own guests; for an empty host, or beyond LIKENESSES, any of the fleet. */
static size_t choose_likenesses(const struct plan_state *state, size_t host, uint64_t *random_state,
                                size_t *chosen)
{
    const size_t n_guests = state->fleet->n_guests;
    size_t n = 0;

    for (size_t g = 0; g < n_guests && n < LIKENESSES; g++)
        if (state->at[g] == host)
            chosen[n++] = g;
    while (n_guests > 0 && n < LIKENESSES && state->loads[host].n_guests == 0)
        chosen[n++] = random_below(random_state, n_guests);
    return n;
}

double plan_how_many(const struct plan_state *state, size_t host, double ram_bytes,
                     uint64_t *random_state, double *draws)
{
    const struct plan_fleet *fleet = state->fleet;
    const struct plan_load *load = &state->loads[host];
    struct packing_guest like[LIKENESSES];
    struct sketch_step step[LIKENESSES];
    size_t chosen[LIKENESSES];
    const size_t stride = fleet->n_times / PLAN_FIT_STEPS + 1;
    size_t n_draws = 0;

    if (plan_is_fixed(&fleet->hosts[host]))
        return 0;

    const size_t n = choose_likenesses(state, host, random_state, chosen);

    for (size_t i = 0; i < n; i++)
        like[i] = (struct packing_guest){&step[i], 1, PLAN_CODE_MAX};
    for (size_t t = 0; t < fleet->n_times; t += stride) {
        for (size_t i = 0; i < n; i++)
            step[i] = (struct sketch_step){plan_series(fleet, chosen[i])[t], 1};
        draws[n_draws++] = packing_fit(like, n, load->limit_bytes - (double)load->joint[t],
                                       ram_bytes, random_state);
    }
    return fmin(packing_reached(draws, n_draws, state->options.risk),
                plan_cpus_left(load, cpus_of(fleet, ram_bytes)));
}

/* --- the ratio -------------------------------------------------------------------------------- */

static int median_limit(const struct plan_state *state, double *limit_bytes)
{
    const size_t n = state->fleet->n_hosts;
    cleanup_free double *limits = calloc(n + 1, sizeof(*limits));

    if (!limits)
        return -ENOMEM;
    for (size_t h = 0; h < n; h++)
        limits[h] = state->loads[h].limit_bytes;
    qsort(limits, n, sizeof(*limits), compare_doubles);
    *limit_bytes = limits[n / 2];
    return 0;
}

/* Draws the first @p n of @p order one by one, without repetition. */
static size_t draw_another(size_t *order, size_t drawn, size_t n, uint64_t *random_state)
{
    const size_t other = drawn + random_below(random_state, n - drawn);
    const size_t guest = order[other];

    order[other] = order[drawn];
    order[drawn] = guest;
    return guest;
}

/* Fills an empty host until a guest does not fit; returns true if all fit. */
static bool fill_host(const struct plan_state *state, struct plan_load *load, size_t *order,
                      uint64_t *random_state)
{
    for (size_t drawn = 0; drawn < state->fleet->n_guests; drawn++) {
        const size_t guest = draw_another(order, drawn, state->fleet->n_guests, random_state);
        struct plan_shape shape = plan_shape_of(state->fleet, guest);

        shape.apart = 0;
        if (!plan_load_fits(state, load, &shape))
            return false;
        plan_load_add(state, load, &shape);
    }
    return true;
}

int plan_ratio_of(const struct plan_state *state, uint64_t *random_state, struct plan_ratio *ratio)
{
    const struct plan_fleet *fleet = state->fleet;
    cleanup_free size_t *order = calloc(fleet->n_guests + 1, sizeof(*order));
    cleanup_free float *joint = calloc(fleet->n_times, sizeof(*joint));
    double trials[TRIALS];
    size_t all_fit = 0;
    double limit_bytes = 0;

    *ratio = (struct plan_ratio){0};
    if (!order || !joint || median_limit(state, &limit_bytes) < 0)
        return -ENOMEM;
    if (limit_bytes <= 0 || fleet->n_guests == 0)
        return 0;
    for (size_t g = 0; g < fleet->n_guests; g++)
        order[g] = g;
    for (size_t i = 0; i < TRIALS; i++) {
        struct plan_load load = {.joint = joint, .limit_bytes = limit_bytes, .z = state->z};

        for (size_t t = 0; t < fleet->n_times; t++)
            joint[t] = 0;
        all_fit += fill_host(state, &load, order, random_state);
        trials[i] = load.ram_bytes / limit_bytes;
    }
    ratio->ratio = packing_reached(trials, TRIALS, TRIALS_WORSE);
    ratio->at_least = all_fit == TRIALS;
    return 0;
}
