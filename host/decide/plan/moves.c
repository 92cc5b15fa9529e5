// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/plan/moves.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

int plan_moves_make(struct plan_moves *moves, size_t n)
{
    moves->n = 0;
    moves->move = calloc(n + 1, sizeof(*moves->move));
    return moves->move ? 0 : -ENOMEM;
}

/* --- what has a place ------------------------------------------------------------------------- */

size_t plan_count_placed(const struct plan_state *state)
{
    return state->fleet->n_guests + state->fleet->n_hosts + state->n_new;
}

static size_t host_of(const struct plan_state *state, size_t g)
{
    const size_t pasts = state->fleet->n_guests;
    const size_t news = pasts + state->fleet->n_hosts;

    return g < pasts  ? state->at[g]
           : g < news ? state->past_at[g - pasts]
                      : state->new_at[g - news];
}

struct plan_shape plan_shape_at(const struct plan_state *state, size_t g)
{
    const size_t pasts = state->fleet->n_guests;
    const size_t news = pasts + state->fleet->n_hosts;

    return g < pasts  ? plan_shape_of_unit(state, g)
           : g < news ? plan_shape_of_past(state->fleet, g - pasts)
                      : state->new_guest[g - news];
}

static void move_to(struct plan_state *state, size_t g, size_t to)
{
    const size_t pasts = state->fleet->n_guests;
    const size_t news = pasts + state->fleet->n_hosts;

    if (g < pasts)
        plan_move_guest(state, g, to);
    else if (g < news)
        plan_move_past(state, g - pasts, to);
    else
        plan_move_new(state, g - news, to);
}

static bool is_unit(const struct plan_state *state, size_t g)
{
    return g < state->fleet->n_guests && state->unit[g].series;
}

/* Returns true if the guest moves when another one does. */
static bool follows(const struct plan_state *state, size_t g)
{
    return g < state->fleet->n_guests && state->unit[g].leader != g;
}

void plan_move(struct plan_state *state, struct plan_moves *moves, size_t guest, size_t to,
               enum plan_why why)
{
    const size_t from = host_of(state, guest);

    moves->move[moves->n++] = (struct plan_move){guest, from, to, why};
    for (size_t g = guest + 1; is_unit(state, guest) && g < state->fleet->n_guests; g++)
        if (state->unit[g].leader == guest)
            moves->move[moves->n++] = (struct plan_move){g, from, to, why};
    move_to(state, guest, to);
}

void plan_undo(struct plan_state *state, struct plan_moves *moves, size_t down_to)
{
    while (moves->n > down_to) {
        const struct plan_move *last = &moves->move[--moves->n];

        if (!follows(state, last->guest))
            move_to(state, last->guest, last->from);
    }
}

/* --- placing ---------------------------------------------------------------------------------- */

/* Returns how full the host would be by slots, 0 .. 1; negative: it cannot take the guest. */
static double rank_host(const struct plan_state *state, size_t host, const struct plan_shape *shape,
                        bool empty_too)
{
    const struct plan_load *load = &state->loads[host];
    double full;

    if ((load->n_guests == 0 && !empty_too) || load->limit_bytes <= 0 || state->gone[host] ||
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

int plan_compare_ordered(const void *a, const void *b)
{
    const struct plan_ordered *x = a;
    const struct plan_ordered *y = b;

    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    if (x->second != y->second)
        return x->second < y->second ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static double peak_of(const struct plan_state *state, size_t g)
{
    const struct plan_slot *slots = plan_shape_at(state, g).slots;
    double peak = 0;

    for (size_t s = 0; s < PLAN_SLOTS; s++)
        peak = fmax(peak, slots[s].mean_bytes + state->z * sqrt((double)slots[s].variance));
    return peak;
}

static bool is_past(const struct plan_state *state, size_t g)
{
    return g >= state->fleet->n_guests && g < state->fleet->n_guests + state->fleet->n_hosts;
}

size_t plan_guests_of(const struct plan_state *state, size_t host, struct plan_ordered *guests)
{
    const size_t placed = plan_count_placed(state);
    size_t n = 0;

    for (size_t g = 0; g < placed; g++)
        if (host_of(state, g) == host && !is_past(state, g) && !follows(state, g))
            guests[n++] = (struct plan_ordered){.index = g, .first = -peak_of(state, g)};
    qsort(guests, n, sizeof(*guests), plan_compare_ordered);
    return n;
}
