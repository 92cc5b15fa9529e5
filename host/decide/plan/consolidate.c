// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file consolidate.c  See consolidate.h. */
#include "decide/plan/consolidate.h"

#include "base/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

int plan_moves_make(struct plan_moves *moves, const struct plan_fleet *fleet)
{
    moves->n = 0;
    moves->move = calloc(fleet->n_guests + 1, sizeof(*moves->move));
    return moves->move ? 0 : -ENOMEM;
}

/* --- placing ---------------------------------------------------------------------------------- */

/* Returns how full the host would be by slots, 0 .. 1; negative: it cannot take the guest. */
static double rank_host(const struct plan_state *state, size_t host, const struct plan_shape *shape,
                        bool empty_too)
{
    const struct plan_load *load = &state->loads[host];
    double full;

    if ((load->n_guests == 0 && !empty_too) || load->limit_bytes <= 0 ||
        plan_is_fixed(&state->fleet->hosts[host]))
        return -1;
    full = plan_load_peak(load, shape) / load->limit_bytes;
    return full > 1 && !state->options.bare ? -1 : full;
}

size_t plan_best_host(struct plan_state *state, const struct plan_shape *shape, size_t but,
                      bool empty_too)
{
    const size_t n = state->fleet->n_hosts;

    for (size_t h = 0; h < n; h++)
        state->rank[h] = h == but ? -1 : rank_host(state, h, shape, empty_too);
    for (;;) {
        size_t best = PLAN_NOWHERE;

        for (size_t h = 0; h < n; h++)
            if (state->rank[h] >= 0 && (best == PLAN_NOWHERE || state->rank[h] > state->rank[best]))
                best = h;
        if (best == PLAN_NOWHERE || plan_load_fits(state, &state->loads[best], shape))
            return best;
        state->rank[best] = -1;
    }
}

struct ordered {
    size_t index;
    double first, second; /* ascending */
};

static int compare_ordered(const void *a, const void *b)
{
    const struct ordered *x = a;
    const struct ordered *y = b;

    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    if (x->second != y->second)
        return x->second < y->second ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static double guest_peak(const struct plan_state *state, size_t g)
{
    const struct plan_slot *slots = state->fleet->guests[g].slots;
    double peak = 0;

    for (size_t s = 0; s < PLAN_SLOTS; s++)
        peak = fmax(peak, slots[s].mean_bytes + state->z * sqrt((double)slots[s].variance));
    return peak;
}

/* Lists the guests of a host by decreasing peaks, and returns their number. */
static size_t guests_of(const struct plan_state *state, size_t host, struct ordered *guests)
{
    size_t n = 0;

    for (size_t g = 0; g < state->fleet->n_guests; g++)
        if (state->at[g] == host)
            guests[n++] = (struct ordered){.index = g, .first = -guest_peak(state, g)};
    qsort(guests, n, sizeof(*guests), compare_ordered);
    return n;
}

/* --- moves ------------------------------------------------------------------------------------ */

static void move(struct plan_state *state, struct plan_moves *moves, size_t guest, size_t to,
                 enum plan_why why)
{
    moves->move[moves->n++] = (struct plan_move){guest, state->at[guest], to, why};
    plan_move_guest(state, guest, to);
}

static void undo(struct plan_state *state, struct plan_moves *moves, size_t down_to)
{
    while (moves->n > down_to) {
        const struct plan_move *last = &moves->move[--moves->n];

        plan_move_guest(state, last->guest, last->from);
    }
}

/* Returns true if the plan moved a guest to this host: then it is not emptied, because no guest
 * moves twice. */
static bool received(const struct plan_moves *moves, size_t host)
{
    for (size_t m = 0; m < moves->n; m++)
        if (moves->move[m].to == host)
            return true;
    return false;
}

/* --- relieving -------------------------------------------------------------------------------- */

/* Moves the smallest guest without which the host suffices, or else the largest that has a place.
 */
static bool relieve_once(struct plan_state *state, struct plan_moves *moves, size_t host,
                         struct ordered *guests)
{
    const size_t n = guests_of(state, host, guests);
    size_t chosen = PLAN_NOWHERE;
    size_t to = PLAN_NOWHERE;

    for (size_t i = n; i-- > 0;) {
        const struct plan_shape shape = plan_shape_of(state->fleet, guests[i].index);
        size_t place;

        if (shape.pinned)
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
    move(state, moves, chosen, to, PLAN_RELIEVE);
    return true;
}

/* Skips hosts that are stale, whose guests may be gone, or partly known. */
static void relieve(struct plan_state *state, struct plan_moves *moves, struct ordered *guests)
{
    for (size_t h = 0; h < state->fleet->n_hosts; h++)
        while (!plan_is_fixed(&state->fleet->hosts[h]) && moves->n < state->options.max_moves &&
               !plan_load_holds(state, &state->loads[h]) && relieve_once(state, moves, h, guests))
            ;
}

/* --- emptying --------------------------------------------------------------------------------- */

static bool place_all(struct plan_state *state, struct plan_moves *moves, size_t host,
                      const struct ordered *guests, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct plan_shape shape = plan_shape_of(state->fleet, guests[i].index);
        const size_t to = plan_best_host(state, &shape, host, false);

        if (to == PLAN_NOWHERE)
            return false;
        move(state, moves, guests[i].index, to, PLAN_EMPTY);
    }
    return true;
}

static void try_to_empty(struct plan_state *state, struct plan_moves *moves, size_t host,
                         struct ordered *guests)
{
    const struct plan_load *load = &state->loads[host];
    const size_t before = moves->n;

    if (load->n_guests == 0 || load->n_pinned > 0 || plan_is_fixed(&state->fleet->hosts[host]) ||
        load->n_guests > state->options.max_moves - moves->n || received(moves, host))
        return;

    const size_t n = guests_of(state, host, guests);

    if (!place_all(state, moves, host, guests, n))
        undo(state, moves, before);
}

int plan_consolidate(struct plan_state *state, struct plan_moves *moves)
{
    const size_t n = state->fleet->n_hosts;
    cleanup_free struct ordered *hosts = calloc(n + 1, sizeof(*hosts));
    cleanup_free struct ordered *guests = calloc(state->fleet->n_guests + 1, sizeof(*guests));

    if (!hosts || !guests)
        return -ENOMEM;
    relieve(state, moves, guests);
    for (size_t h = 0; h < n; h++)
        hosts[h] = (struct ordered){h, (double)state->loads[h].n_guests,
                                    plan_load_peak(&state->loads[h], NULL)};
    qsort(hosts, n, sizeof(*hosts), compare_ordered);
    for (size_t h = 0; h < n; h++)
        try_to_empty(state, moves, hosts[h].index, guests);
    return 0;
}

/* --- host failure ----------------------------------------------------------------------------- */

int plan_host_fails(struct plan_state *state, size_t host, size_t *unplaced, double *unplaced_bytes)
{
    cleanup_free struct ordered *guests = calloc(state->fleet->n_guests + 1, sizeof(*guests));
    struct plan_moves moves;
    int rc = plan_moves_make(&moves, state->fleet);

    *unplaced = 0;
    *unplaced_bytes = 0;
    if (!guests)
        rc = -ENOMEM;

    const size_t n = rc == 0 ? guests_of(state, host, guests) : 0;

    for (size_t i = 0; i < n; i++) {
        const struct plan_shape shape = plan_shape_of(state->fleet, guests[i].index);
        const size_t to = plan_best_host(state, &shape, host, true);

        if (to == PLAN_NOWHERE) {
            ++*unplaced;
            *unplaced_bytes += shape.ram_bytes;
        } else {
            move(state, &moves, guests[i].index, to, PLAN_RELIEVE);
        }
    }
    undo(state, &moves, 0);
    free(moves.move);
    return rc;
}
