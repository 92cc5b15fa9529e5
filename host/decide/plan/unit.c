// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file unit.c  See load.h: guests that belong together. */
#include "decide/plan/load.h"

#include "decide/plan/price.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct plan_shape plan_shape_of_unit(const struct plan_state *state, size_t leader)
{
    const struct plan_unit *unit = &state->unit[leader];
    struct plan_shape shape = plan_shape_of(state->fleet, leader);

    if (!unit->series)
        return shape;
    for (size_t g = 0; g < state->fleet->n_guests; g++) {
        const struct plan_guest *guest = &state->fleet->guests[g];

        if (g == leader || state->unit[g].leader != leader)
            continue;
        shape.ram_bytes += (double)guest->ram_bytes;
        shape.cpus += isnan(guest->cpus) ? 0 : guest->cpus;
        shape.apart |= guest->apart;
        shape.pinned |= guest->pinned || plan_is_stuck(state->fleet, g);
        shape.more++;
    }
    shape.series = unit->series;
    shape.unit_bytes = unit->unit_bytes;
    shape.slots = unit->slots;
    return shape;
}

static bool is_in(const struct plan_state *state, size_t g, size_t together, size_t host)
{
    return state->fleet->guests[g].together == together && state->at[g] == host;
}

/* Adds the series of all guests of the unit up, rounded up. */
static void add_up(struct plan_unit *unit, const struct plan_state *state, size_t leader)
{
    const struct plan_fleet *fleet = state->fleet;

    for (size_t t = 0; t < fleet->n_times; t++) {
        double sum = 0;

        for (size_t g = leader; g < fleet->n_guests; g++)
            if (state->unit[g].leader == leader)
                sum += plan_series(fleet, g)[t] * plan_unit(&fleet->guests[g]);
        unit->series[t] = (uint8_t)fmin(ceil(sum / unit->unit_bytes * (1 - 1e-9)), PLAN_CODE_MAX);
    }
    plan_fill_slots(fleet, unit->series, unit->unit_bytes, unit->slots);
}

static void dissolve(struct plan_unit *unit)
{
    free(unit->series);
    free(unit->slots);
    unit->series = NULL;
    unit->slots = NULL;
}

/* Takes a guest out of the sum of its host, and of the unit that it was in. Leaders come first. */
static void take(struct plan_state *state, size_t g, size_t leader)
{
    const struct plan_shape shape = plan_shape_of_unit(state, g);
    struct plan_unit *unit = &state->unit[g];

    if (unit->leader == g) {
        plan_load_remove(state, &state->loads[state->at[g]], &shape);
        dissolve(unit);
    }
    unit->leader = leader;
}

int plan_unite(struct plan_state *state, size_t together, size_t host)
{
    struct plan_unit new = {.leader = state->fleet->n_guests};
    struct plan_shape shape;
    double ram_bytes = 0;

    for (size_t g = 0; g < state->fleet->n_guests; g++)
        if (is_in(state, g, together, host)) {
            new.leader = g < new.leader ? g : new.leader;
            ram_bytes += (double)state->fleet->guests[g].ram_bytes;
        }
    new.unit_bytes = ram_bytes / PLAN_CODE_MAX;
    new.slots = calloc(PLAN_SLOTS, sizeof(*new.slots));
    new.series = malloc(state->fleet->n_times);
    if (!new.slots || !new.series || new.leader == state->fleet->n_guests) {
        free(new.slots);
        free(new.series);
        return new.leader == state->fleet->n_guests ? 0 : -ENOMEM;
    }
    for (size_t g = new.leader; g < state->fleet->n_guests; g++)
        if (is_in(state, g, together, host))
            take(state, g, new.leader);
    state->unit[new.leader] = new;
    add_up(&state->unit[new.leader], state, new.leader);
    shape = plan_shape_of_unit(state, new.leader);
    plan_load_add(state, &state->loads[host], &shape);
    return 0;
}

void plan_units_free(struct plan_state *state)
{
    for (size_t g = 0; state->unit && g < state->fleet->n_guests; g++)
        dissolve(&state->unit[g]);
    free(state->unit);
}
