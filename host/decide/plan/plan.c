// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/plan/plan.h"

#include "base/cleanup.h"
#include "decide/plan/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 0x766d777373706c61ULL /* a fixed seed makes plans reproducible */

/* Rough share of each part in the work. */
enum part { PART_NEED, PART_FAILS, PART_MOVES, PARTS };

static void report(const struct plan_request *request, enum part part, size_t done, size_t of)
{
    if (request->progress)
        request->progress(((double)part + (double)done / (double)of) / PARTS, request->context);
}

static double limit_of(const struct plan_host *host)
{
    return host->capacity_bytes > host->reserve_bytes
               ? (double)(host->capacity_bytes - host->reserve_bytes)
               : 0;
}

/* --- as it was -------------------------------------------------------------------------------- */

static int need_of_hosts(const struct plan_fleet *fleet, const struct plan_request *request,
                         struct plan_result *result)
{
    const size_t n = fleet->n_times;
    cleanup_free float *joint = calloc(n, sizeof(*joint));
    cleanup_free float *draft = calloc(n, sizeof(*draft));
    int rc = joint && draft ? 0 : -ENOMEM;

    for (size_t h = 0; rc == 0 && h < fleet->n_hosts; h++) {
        const struct plan_sum sum = {joint, n, fleet->step_s, fleet->hosts[h].days};
        struct plan_host_result *host = &result->hosts[h];

        host->limit_bytes = limit_of(&fleet->hosts[h]);
        plan_joint(fleet, h, joint);
        plan_need_of(&sum, host->limit_bytes, request->options.risk, draft, &host->need);
        rc = plan_runway_of(&sum, host->limit_bytes, draft, &host->runway);
        report(request, PART_NEED, h + 1, fleet->n_hosts);
    }
    return rc;
}

/* --- as it is planned ------------------------------------------------------------------------- */

static double planned(const struct plan_state *state, size_t host)
{
    const struct plan_fleet *fleet = state->fleet;
    const struct plan_load *load = &state->loads[host];
    const struct plan_sum sum = {load->joint, fleet->n_times, fleet->step_s,
                                 fleet->hosts[host].days};
    struct plan_need need;

    plan_need_of(&sum, load->limit_bytes, state->options.risk, state->draft, &need);
    return need.risk_bytes;
}

static size_t count_parted(const struct plan_state *state, size_t host)
{
    size_t n = 0;

    for (size_t g = 0; g < state->fleet->n_guests; g++)
        n += state->at[g] == host && plan_is_parted(state, g);
    return n;
}

static int before_moves(struct plan_state *state, const struct plan_request *request,
                        struct plan_result *result, double *draws, uint64_t *random_state)
{
    const size_t n = state->fleet->n_hosts;
    int rc = 0;

    for (size_t h = 0; rc == 0 && h < n; h++) {
        struct plan_host_result *host = &result->hosts[h];
        const struct plan_load *load = &state->loads[h];

        host->n_guests = load->n_guests;
        host->partial = state->fleet->hosts[h].partial;
        host->ram_bytes = load->ram_bytes;
        host->swap_bytes = fmax(load->ram_bytes - load->limit_bytes, 0);
        host->planned_bytes = planned(state, h);
        host->together = plan_count_together(state, h);
        host->parted = count_parted(state, h);
        host->cpus = load->cpus;
        result->short_before += !plan_load_holds(state, load);
        if (request->n_place > 0)
            host->how_many = plan_how_many(state, h, request->place_bytes[0], random_state, draws);
        rc = plan_host_fails(state, h, &host->fails);
        report(request, PART_FAILS, h + 1, n);
    }
    return rc;
}

/* A host that is drained takes no guests, even if it had none to move. */
static int after_moves(struct plan_state *state, const struct plan_request *request,
                       struct plan_result *result, double *draws, uint64_t *random_state)
{
    int rc = 0;

    for (size_t h = 0; rc == 0 && h < state->fleet->n_hosts; h++) {
        struct plan_host_result *host = &result->hosts[h];
        const struct plan_load *load = &state->loads[h];

        host->n_guests_after = load->n_guests;
        host->planned_after_bytes = planned(state, h);
        host->past_at = state->past_at[h];
        host->together_after = plan_count_together(state, h);
        host->parted_after = count_parted(state, h);
        host->cpus_after = load->cpus;
        result->short_after += !plan_load_holds(state, load);
        host->emptied = host->n_guests > 0 && load->n_guests + load->n_past == 0;
        result->emptied += host->emptied;
        host->fails_after = host->fails;
        host->how_many_after = host->how_many;
        if (result->moves.n == 0 && !request->drain)
            continue;
        rc = plan_host_fails(state, h, &host->fails_after);
        if (request->n_place > 0)
            host->how_many_after = host->emptied || state->fleet->hosts[h].drain
                                       ? 0
                                       : plan_how_many(state, h, request->place_bytes[0],
                                                       random_state, draws);
    }
    return rc == 0 ? plan_survives(state, &result->spared_after) : rc;
}

/* Places the new guests one after the other: each is there when the next comes. */
static int place(struct plan_state *state, const struct plan_request *request,
                 struct plan_result *result, uint64_t *random_state)
{
    const size_t n_times = state->fleet->n_times;
    cleanup_free uint8_t *series = malloc(request->n_place * n_times + 1);
    cleanup_free struct plan_slot *slots = calloc(request->n_place * PLAN_SLOTS + 1,
                                                  sizeof(*slots));
    int rc;

    if (!series || !slots)
        return -ENOMEM;
    for (size_t i = 0; i < request->n_place; i++) {
        struct plan_shape shape;

        result->place[i] = PLAN_NOWHERE;
        if (state->fleet->n_guests == 0)
            continue;
        shape = plan_new_guest(state->fleet, request->place_bytes[i], random_state,
                               series + i * n_times, slots + i * PLAN_SLOTS);
        result->place[i] = plan_best_host(state, &shape, PLAN_NOWHERE, false);
        if (result->place[i] == PLAN_NOWHERE)
            result->place[i] = plan_best_host(state, &shape, PLAN_NOWHERE, true);
        if (result->place[i] != PLAN_NOWHERE)
            plan_place_new(state, &shape, result->place[i]);
    }
    for (size_t h = 0; h < state->fleet->n_hosts; h++)
        state->gone[h] |= result->hosts[h].emptied && state->loads[h].n_guests == 0;
    result->spared_with_new = result->spared_after;
    rc = state->n_new > 0 ? plan_survives(state, &result->spared_with_new) : 0;
    state->n_new = 0; /* their series are freed here */
    return rc;
}

static int plan_with(struct plan_state *state, const struct plan_request *request,
                     struct plan_result *result)
{
    cleanup_free double *draws = calloc(state->fleet->n_times, sizeof(*draws));
    uint64_t random_state = SEED;
    int rc = draws ? before_moves(state, request, result, draws, &random_state) : -ENOMEM;

    if (rc == 0)
        rc = plan_ratio_of(state, &random_state, &result->ratio);
    if (rc == 0)
        rc = plan_survives(state, &result->spared_before);
    if (rc == 0 && request->drain)
        rc = plan_drain(state, &result->moves);
    if (rc == 0 && request->consolidate)
        rc = plan_consolidate(state, &result->moves);
    if (rc == 0)
        rc = plan_order_moves(state, &result->moves);
    if (rc == 0)
        rc = after_moves(state, request, result, draws, &random_state);
    if (rc < 0)
        return rc;
    report(request, PART_MOVES, 1, 1);
    /* A new guest that fits nowhere else may get a host that was to be emptied. */
    for (size_t h = 0; h < state->fleet->n_hosts; h++)
        state->gone[h] = state->fleet->hosts[h].drain;
    return place(state, request, result, &random_state);
}

static double unknown(const struct plan_fleet *fleet)
{
    double known = 0;

    for (size_t g = 0; g < fleet->n_guests; g++)
        known += fleet->guests[g].days;
    return fleet->n_guests ? 1 - known / (plan_days(fleet) * (double)fleet->n_guests) : 0;
}

int plan_make(struct plan_fleet *fleet, const struct plan_request *request,
              struct plan_result *result)
{
    struct plan_state state = {0};
    int rc = plan_profile(fleet);

    if (request->options.running_only)
        memset(fleet->past_series, 0, fleet->n_hosts * fleet->n_times);
    *result = (struct plan_result){.hosts = calloc(fleet->n_hosts + 1, sizeof(*result->hosts))};
    if (rc == 0)
        rc = result->hosts ? plan_moves_make(&result->moves, fleet->n_guests) : -ENOMEM;
    if (rc == 0)
        rc = need_of_hosts(fleet, request, result);
    if (rc == 0 && plan_has_moves(request))
        rc = plan_price_guests(fleet, &request->terms);
    if (rc == 0) {
        result->unknown = unknown(fleet);
        plan_prepare(fleet, &request->options);
        rc = plan_state_make(&state, fleet, &request->options);
    }
    if (rc == 0) {
        rc = plan_with(&state, request, result);
        plan_state_free(&state);
    }
    if (rc < 0)
        plan_result_free(result);
    return rc;
}

void plan_result_free(struct plan_result *result)
{
    free(result->hosts);
    free(result->moves.move);
    *result = (struct plan_result){0};
}
