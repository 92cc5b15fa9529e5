// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/plan/consolidate.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>

/* Returns true if the plan moved a guest to this host, or has room here for those of another that
 * have ended: then it is not emptied, because no guest moves twice. */
static bool received(const struct plan_state *state, const struct plan_moves *moves, size_t host)
{
    for (size_t h = 0; h < state->fleet->n_hosts; h++)
        if (state->past_at[h] == host && h != host)
            return true;
    for (size_t m = 0; m < moves->n; m++)
        if (moves->move[m].to == host)
            return true;
    return false;
}

/* Returns true if the moves that are left suffice for the unit. */
static bool has_moves(const struct plan_state *state, const struct plan_moves *moves,
                      const struct plan_shape *shape)
{
    return moves->n <= state->options.max_moves &&
           1 + shape->more <= state->options.max_moves - moves->n;
}

/* Returns true if the plan moved the guest: none moves twice. */
static bool was_moved(const struct plan_moves *moves, size_t guest)
{
    for (size_t m = 0; m < moves->n; m++)
        if (moves->move[m].guest == guest)
            return true;
    return false;
}

/* --- joining ---------------------------------------------------------------------------------- */

static bool is_elsewhere(const struct plan_state *state, size_t g, size_t together, size_t host)
{
    return state->fleet->guests[g].together == together && state->at[g] != host &&
           state->unit[g].leader == g;
}

/* Returns true if all guests of the group could be moved to the host. */
static bool join_on(struct plan_state *state, struct plan_moves *moves, size_t together,
                    size_t host)
{
    const size_t before = moves->n;
    bool joined = !state->gone[host] && !plan_is_fixed(&state->fleet->hosts[host]);

    for (size_t g = 0; joined && g < state->fleet->n_guests; g++) {
        const struct plan_shape shape = plan_shape_at(state, g);

        if (!is_elsewhere(state, g, together, host))
            continue;
        joined = !shape.pinned && !was_moved(moves, g) &&
                 !plan_is_fixed(&state->fleet->hosts[state->at[g]]) &&
                 has_moves(state, moves, &shape) &&
                 plan_load_fits(state, &state->loads[host], &shape);
        if (joined)
            plan_move(state, moves, g, host, PLAN_JOIN);
    }
    if (!joined)
        plan_undo(state, moves, before);
    return joined;
}

/* Joins each group on the first host of its guests that has room for all. */
static int join(struct plan_state *state, struct plan_moves *moves)
{
    const struct plan_guest *guests = state->fleet->guests;
    int rc = 0;

    for (size_t g = 0; rc == 0 && g < state->fleet->n_guests; g++)
        if (plan_is_parted(state, g) && join_on(state, moves, guests[g].together, state->at[g]))
            rc = plan_unite(state, guests[g].together, state->at[g]);
    return rc;
}

bool plan_is_parted(const struct plan_state *state, size_t guest)
{
    const size_t together = state->fleet->guests[guest].together;

    for (size_t g = 0; together > 0 && g < state->fleet->n_guests; g++)
        if (state->fleet->guests[g].together == together && state->at[g] != state->at[guest])
            return true;
    return false;
}

/* --- separating --------------------------------------------------------------------------------
 */

size_t plan_count_together(const struct plan_state *state, size_t host)
{
    uint64_t apart = 0;
    size_t n = 0;

    for (size_t g = 0; g < state->fleet->n_guests; g++) {
        const uint64_t own = state->at[g] == host ? state->fleet->guests[g].apart : 0;

        n += (own & apart) != 0;
        apart |= own;
    }
    return n;
}

/* Pinned guests stay, then those with the highest peaks. */
static void separate_host(struct plan_state *state, struct plan_moves *moves, size_t host,
                          struct plan_ordered *guests)
{
    const size_t n = plan_guests_of(state, host, guests);
    uint64_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (plan_shape_at(state, guests[i].index).pinned)
            kept |= state->fleet->guests[guests[i].index].apart;
    for (size_t i = 0; i < n && moves->n < state->options.max_moves; i++) {
        const struct plan_shape shape = plan_shape_at(state, guests[i].index);
        size_t to = PLAN_NOWHERE;

        if (!shape.pinned && shape.apart & kept && !was_moved(moves, guests[i].index) &&
            has_moves(state, moves, &shape))
            to = plan_best_host(state, &shape, host, true);
        if (to != PLAN_NOWHERE)
            plan_move(state, moves, guests[i].index, to, PLAN_SEPARATE);
        else
            kept |= shape.apart;
    }
}

static void separate(struct plan_state *state, struct plan_moves *moves,
                     struct plan_ordered *guests)
{
    for (size_t h = 0; h < state->fleet->n_hosts; h++)
        if (!plan_is_fixed(&state->fleet->hosts[h]) && plan_count_together(state, h) > 0)
            separate_host(state, moves, h, guests);
}

/* --- relieving -------------------------------------------------------------------------------- */

/* Moves the smallest guest without which the host suffices, or else the largest that has a place.
 */
static bool relieve_once(struct plan_state *state, struct plan_moves *moves, size_t host,
                         struct plan_ordered *guests)
{
    const size_t n = plan_guests_of(state, host, guests);
    size_t chosen = PLAN_NOWHERE;
    size_t to = PLAN_NOWHERE;

    for (size_t i = n; i-- > 0;) {
        const struct plan_shape shape = plan_shape_at(state, guests[i].index);
        size_t place;

        if (shape.pinned || was_moved(moves, guests[i].index) || !has_moves(state, moves, &shape))
            continue;
        place = plan_best_host(state, &shape, host, true);
        if (place == PLAN_NOWHERE)
            continue;
        chosen = guests[i].index;
        to = place;
        if (plan_load_holds_without(state, &state->loads[host], &shape))
            break;
    }
    if (chosen == PLAN_NOWHERE)
        return false;
    plan_move(state, moves, chosen, to, PLAN_RELIEVE);
    return true;
}

/* Skips partly known hosts, and stale hosts, whose guests may be gone. */
static void relieve(struct plan_state *state, struct plan_moves *moves, struct plan_ordered *guests)
{
    for (size_t h = 0; h < state->fleet->n_hosts; h++)
        while (!plan_is_fixed(&state->fleet->hosts[h]) && moves->n < state->options.max_moves &&
               !plan_load_holds(state, &state->loads[h]) && relieve_once(state, moves, h, guests))
            ;
}

/* --- emptying --------------------------------------------------------------------------------- */

static bool place_all(struct plan_state *state, struct plan_moves *moves, size_t host,
                      const struct plan_ordered *guests, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct plan_shape shape = plan_shape_at(state, guests[i].index);
        const size_t to = plan_best_host(state, &shape, host, false);

        if (to == PLAN_NOWHERE)
            return false;
        plan_move(state, moves, guests[i].index, to, PLAN_EMPTY);
    }
    return true;
}

/* Finds room for guests of the host that have ended. */
static bool place_past(struct plan_state *state, size_t host, bool empty_too)
{
    const struct plan_shape shape = plan_shape_of_past(state->fleet, host);
    size_t to;

    if (!plan_has_past(state->fleet, host))
        return true;
    to = plan_best_host(state, &shape, host, empty_too);
    if (to == PLAN_NOWHERE)
        return false;
    plan_move_past(state, host, to);
    return true;
}

/* Returns true if the host is emptied; it is gone then. */
static bool try_to_empty(struct plan_state *state, struct plan_moves *moves, size_t host,
                         struct plan_ordered *guests)
{
    const struct plan_load *load = &state->loads[host];
    const size_t before = moves->n;

    if (state->gone[host] || load->n_guests == 0 || load->n_pinned > 0 ||
        plan_is_fixed(&state->fleet->hosts[host]) || moves->n > state->options.max_moves ||
        load->n_guests > state->options.max_moves - moves->n || received(state, moves, host))
        return false;

    const size_t n = plan_guests_of(state, host, guests);

    state->gone[host] = place_all(state, moves, host, guests, n) && place_past(state, host, false);
    if (!state->gone[host])
        plan_undo(state, moves, before);
    return state->gone[host];
}

/* Tries to empty hosts one after the other. With hosts to spare each is checked; when many in a row
 * could be emptied, several are checked at once, for each check lets all hosts fail in turn. */
static void empty_hosts(struct plan_state *state, struct plan_moves *moves,
                        const struct plan_ordered *hosts, struct plan_ordered *guests,
                        struct plan_failing *failing)
{
    const size_t n = state->fleet->n_hosts;
    size_t each = 1;

    for (size_t at = 0; at < n;) {
        const size_t before = moves->n;
        const size_t end = n - at < each ? n : at + each;
        size_t emptied = 0;

        for (size_t h = at; h < end; h++)
            emptied += try_to_empty(state, moves, hosts[h].index, guests);
        if (emptied == 0 || state->options.spare == 0 || plan_survives_all(failing)) {
            at = end;
            each *= emptied > 0 ? 2 : 1;
            continue;
        }
        plan_undo(state, moves, before);
        for (size_t h = at; h < end; h++) {
            if (state->fleet->hosts[hosts[h].index].drain) /* it stays empty */
                continue;
            state->gone[hosts[h].index] = false;
            plan_move_past(state, hosts[h].index, hosts[h].index);
        }
        at += end - at == 1;
        each = end - at > 1 ? (end - at) / 2 : 1;
    }
}

static void drain_host(struct plan_state *state, struct plan_moves *moves, size_t host,
                       struct plan_ordered *guests)
{
    const size_t n = plan_guests_of(state, host, guests);

    for (size_t i = 0; i < n; i++) {
        const struct plan_shape shape = plan_shape_at(state, guests[i].index);
        size_t to = PLAN_NOWHERE;

        if (!shape.pinned)
            to = plan_best_host(state, &shape, host, false);
        if (!shape.pinned && to == PLAN_NOWHERE)
            to = plan_best_host(state, &shape, host, true);
        if (to != PLAN_NOWHERE)
            plan_move(state, moves, guests[i].index, to, PLAN_DRAIN);
    }
    if (!place_past(state, host, false))
        place_past(state, host, true);
}

int plan_drain(struct plan_state *state, struct plan_moves *moves)
{
    const struct plan_fleet *fleet = state->fleet;
    cleanup_free struct plan_ordered *guests = calloc(plan_count_placed(state) + 1,
                                                      sizeof(*guests));

    if (!guests)
        return -ENOMEM;
    for (size_t h = 0; h < fleet->n_hosts; h++)
        state->gone[h] = fleet->hosts[h].drain;
    for (size_t h = 0; h < fleet->n_hosts; h++)
        if (fleet->hosts[h].drain && !plan_is_fixed(&fleet->hosts[h]))
            drain_host(state, moves, h, guests);
    return 0;
}

int plan_consolidate(struct plan_state *state, struct plan_moves *moves)
{
    const size_t n = state->fleet->n_hosts;
    cleanup_free struct plan_ordered *hosts = calloc(n + 1, sizeof(*hosts));
    cleanup_free struct plan_ordered *guests = calloc(plan_count_placed(state) + 1,
                                                      sizeof(*guests));
    struct plan_failing failing = {0};
    int rc = hosts && guests ? plan_failing_make(&failing, state) : -ENOMEM;

    if (rc == 0)
        rc = join(state, moves);
    if (rc == 0) {
        separate(state, moves, guests);
        relieve(state, moves, guests);
        for (size_t h = 0; h < n; h++)
            hosts[h] = (struct plan_ordered){h, (double)state->loads[h].n_guests,
                                             plan_load_peak(&state->loads[h], NULL)};
        qsort(hosts, n, sizeof(*hosts), plan_compare_ordered);
        empty_hosts(state, moves, hosts, guests, &failing);
    }
    plan_failing_free(&failing);
    return rc;
}
