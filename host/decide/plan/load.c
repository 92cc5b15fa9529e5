// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/plan/load.h"

#include "decide/plan/past.h"
#include "decide/plan/price.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Steps between two checks whether too many are short already. */
#define BLOCK 1024

/* --- the state -------------------------------------------------------------------------------- */

static double z_of(const struct plan_options *options, double days)
{
    return plan_is_short(days) ? PLAN_SIGMAS_SHORT_HISTORY : plan_z(options->risk);
}

static double longest_history(const struct plan_fleet *fleet)
{
    double days = 0;

    for (size_t h = 0; h < fleet->n_hosts; h++)
        days = fmax(days, fleet->hosts[h].days);
    return days;
}

void plan_state_free(struct plan_state *state)
{
    for (size_t h = 0; state->loads && h < state->fleet->n_hosts; h++)
        free(state->loads[h].joint);
    free(state->loads);
    plan_units_free(state);
    free(state->at);
    free(state->past_at);
    free(state->rank);
    free(state->gone);
    free(state->draft);
    *state = (struct plan_state){0};
}

struct plan_shape plan_shape_of(const struct plan_fleet *fleet, size_t g)
{
    const struct plan_guest *guest = &fleet->guests[g];

    return (struct plan_shape){
        .series = plan_series(fleet, g),
        .unit_bytes = plan_unit(guest),
        .ram_bytes = (double)guest->ram_bytes,
        .cpus = isnan(guest->cpus) ? 0 : guest->cpus,
        .slots = guest->slots,
        .apart = guest->apart,
        .pinned = guest->pinned || plan_is_stuck(fleet, g),
    };
}

/* --- adding up -------------------------------------------------------------------------------- */

static void add_shape(const struct plan_state *state, struct plan_load *load,
                      const struct plan_shape *shape, double sign)
{
    const float unit = (float)(sign * shape->unit_bytes);
    const uint8_t *series = shape->series;
    float *joint = load->joint;

    for (size_t t = 0; t < state->fleet->n_times; t++)
        joint[t] += unit * series[t];
    for (size_t s = 0; s < PLAN_SLOTS; s++) {
        load->mean_bytes[s] += (float)sign * shape->slots[s].mean_bytes;
        load->variance[s] += (float)sign * shape->slots[s].variance;
    }
    load->ram_bytes += sign * shape->ram_bytes;
    load->cpus += sign * shape->cpus;
}

void plan_load_add(const struct plan_state *state, struct plan_load *load,
                   const struct plan_shape *shape)
{
    add_shape(state, load, shape, 1);
    load->apart |= shape->apart;
    load->n_guests += 1 + shape->more;
    load->n_pinned += shape->pinned;
}

struct plan_shape plan_shape_of_past(const struct plan_fleet *fleet, size_t host)
{
    return (struct plan_shape){
        .series = plan_past_series(fleet, host),
        .unit_bytes = fleet->past[host].unit_bytes,
        .cpus = fleet->past[host].cpus,
        .slots = fleet->past[host].slots,
    };
}

bool plan_has_past(const struct plan_fleet *fleet, size_t host)
{
    return fleet->past[host].n_guests > 0 && !fleet->past[host].left_out;
}

static void add_past(struct plan_state *state, size_t host, size_t to)
{
    const struct plan_shape shape = plan_shape_of_past(state->fleet, host);

    state->past_at[host] = to;
    if (!plan_has_past(state->fleet, host))
        return;
    add_shape(state, &state->loads[to], &shape, 1);
    state->loads[to].n_past++;
}

void plan_move_past(struct plan_state *state, size_t host, size_t to)
{
    const struct plan_shape shape = plan_shape_of_past(state->fleet, host);
    struct plan_load *load = &state->loads[state->past_at[host]];

    if (plan_has_past(state->fleet, host)) {
        load->n_past--;
        add_shape(state, load, &shape, -1);
    }
    add_past(state, host, to);
}

/* Guests that belong together, but are on two hosts, are two units. */
static int unite_all(struct plan_state *state)
{
    int rc = 0;

    for (size_t g = 0; rc == 0 && g < state->fleet->n_guests; g++) {
        const size_t together = state->fleet->guests[g].together;

        if (together > 0 && state->unit[g].leader == g)
            rc = plan_unite(state, together, state->at[g]);
    }
    return rc;
}

static int make_loads(struct plan_state *state)
{
    const struct plan_fleet *fleet = state->fleet;

    for (size_t h = 0; h < fleet->n_hosts; h++) {
        const struct plan_host *host = &fleet->hosts[h];
        struct plan_load *load = &state->loads[h];

        load->joint = calloc(fleet->n_times, sizeof(*load->joint));
        if (!load->joint)
            return -ENOMEM;
        load->z = z_of(&state->options, host->days);
        load->limit_cpus = host->cpus;
        load->limit_bytes = host->capacity_bytes > host->reserve_bytes
                                ? (double)(host->capacity_bytes - host->reserve_bytes)
                                : 0;
    }
    for (size_t h = 0; h < fleet->n_hosts; h++)
        add_past(state, h, h);
    for (size_t g = 0; g < fleet->n_guests; g++) {
        const struct plan_shape shape = plan_shape_of(fleet, g);

        state->at[g] = fleet->guests[g].host;
        state->unit[g].leader = g;
        plan_load_add(state, &state->loads[state->at[g]], &shape);
    }
    return unite_all(state);
}

/* Clears the sums, and with them any rounding errors. */
static void clear_load(const struct plan_state *state, struct plan_load *load)
{
    memset(load->joint, 0, state->fleet->n_times * sizeof(*load->joint));
    memset(load->mean_bytes, 0, sizeof(load->mean_bytes));
    memset(load->variance, 0, sizeof(load->variance));
    load->ram_bytes = 0;
    load->cpus = 0;
}

void plan_load_remove(const struct plan_state *state, struct plan_load *load,
                      const struct plan_shape *shape)
{
    load->n_guests -= 1 + shape->more;
    load->n_pinned -= shape->pinned;
    if (load->n_guests + load->n_past == 0)
        clear_load(state, load);
    else
        add_shape(state, load, shape, -1);
}

static uint64_t apart_on(const struct plan_state *state, size_t host)
{
    uint64_t apart = 0;

    for (size_t g = 0; g < state->fleet->n_guests; g++)
        if (state->at[g] == host)
            apart |= state->fleet->guests[g].apart;
    return apart;
}

void plan_move_guest(struct plan_state *state, size_t guest, size_t to)
{
    const struct plan_shape shape = plan_shape_of_unit(state, guest);
    const size_t from = state->at[guest];

    plan_load_remove(state, &state->loads[from], &shape);
    plan_load_add(state, &state->loads[to], &shape);
    state->at[guest] = to;
    for (size_t g = guest; shape.more > 0 && g < state->fleet->n_guests; g++)
        if (state->unit[g].leader == guest)
            state->at[g] = to;
    if (shape.apart)
        state->loads[from].apart = apart_on(state, from);
}

void plan_place_new(struct plan_state *state, const struct plan_shape *shape, size_t host)
{
    state->new_at[state->n_new] = host;
    state->new_guest[state->n_new++] = *shape;
    plan_load_add(state, &state->loads[host], shape);
}

void plan_move_new(struct plan_state *state, size_t i, size_t to)
{
    plan_load_remove(state, &state->loads[state->new_at[i]], &state->new_guest[i]);
    plan_load_add(state, &state->loads[to], &state->new_guest[i]);
    state->new_at[i] = to;
}

int plan_state_make(struct plan_state *state, const struct plan_fleet *fleet,
                    const struct plan_options *options)
{
    *state = (struct plan_state){
        .fleet = fleet,
        .options = *options,
        .z = z_of(options, longest_history(fleet)),
        .allowed = (size_t)(options->risk * (double)fleet->n_times),
        .loads = calloc(fleet->n_hosts + 1, sizeof(*state->loads)),
        .unit = calloc(fleet->n_guests + 1, sizeof(*state->unit)),
        .at = calloc(fleet->n_guests + 1, sizeof(*state->at)),
        .past_at = calloc(fleet->n_hosts + 1, sizeof(*state->past_at)),
        .rank = calloc(fleet->n_hosts + 1, sizeof(*state->rank)),
        .gone = calloc(fleet->n_hosts + 1, sizeof(*state->gone)),
        .draft = calloc(fleet->n_times, sizeof(*state->draft)),
    };
    if (state->loads && state->at && state->unit && state->past_at && state->rank && state->gone &&
        state->draft && make_loads(state) == 0)
        return 0;
    plan_state_free(state);
    return -ENOMEM;
}

/* --- fitting ---------------------------------------------------------------------------------- */

/* fmaxf() would be a call, because it handles NAN. */
static float larger_of(float a, float b)
{
    return a > b ? a : b;
}

/* Subtracted variances may leave a sum slightly below 0. */
static float peak_of_slot(const struct plan_load *load, size_t s, const struct plan_slot *more)
{
    const float mean = load->mean_bytes[s] + more->mean_bytes;

    return mean + (float)load->z * sqrtf(larger_of(load->variance[s] + more->variance, 0));
}

double plan_load_peak(const struct plan_load *load, const struct plan_shape *shape)
{
    static const struct plan_slot nothing;
    float peak = 0;

    for (size_t s = 0; s < PLAN_SLOTS; s++)
        peak = larger_of(peak, peak_of_slot(load, s, shape ? &shape->slots[s] : &nothing));
    return peak;
}

static size_t count_above(const float *joint, const uint8_t *series, size_t n, float unit,
                          float limit)
{
    unsigned above = 0; /* n is at most BLOCK: as wide as a float, for vectors */

    for (size_t t = 0; t < n; t++)
        above += joint[t] + unit * series[t] > limit;
    return above;
}

/* @p sign -1: without the guest. */
static bool replay_holds(const struct plan_state *state, const struct plan_load *load,
                         const struct plan_shape *shape, double sign)
{
    const size_t n = state->fleet->n_times;
    size_t above = 0;

    for (size_t t = 0; t < n && above <= state->allowed; t += BLOCK)
        above += count_above(load->joint + t, shape->series + t, n - t < BLOCK ? n - t : BLOCK,
                             (float)(sign * shape->unit_bytes), (float)load->limit_bytes);
    return above <= state->allowed;
}

double plan_cpus_left(const struct plan_load *load, double cpus)
{
    /* The tolerance covers the rounding of sums from which values were subtracted again. */
    const double left = load->limit_cpus * (1 + 1e-9) - load->cpus;

    if (load->limit_cpus <= 0)
        return HUGE_VAL;
    if (left < 0)
        return 0;
    return cpus > 0 ? floor(left / cpus) : HUGE_VAL;
}

bool plan_load_fits(const struct plan_state *state, const struct plan_load *load,
                    const struct plan_shape *shape)
{
    if (load->apart & shape->apart || plan_cpus_left(load, shape->cpus) < 1)
        return false;
    if (!state->options.bare && plan_load_peak(load, shape) > load->limit_bytes)
        return false;
    return replay_holds(state, load, shape, 1);
}

bool plan_load_holds(const struct plan_state *state, const struct plan_load *load)
{
    size_t above = 0;

    for (size_t t = 0; t < state->fleet->n_times; t++)
        above += load->joint[t] > (float)load->limit_bytes;
    return above <= state->allowed;
}

bool plan_load_holds_without(const struct plan_state *state, const struct plan_load *load,
                             const struct plan_shape *shape)
{
    return replay_holds(state, load, shape, -1);
}
