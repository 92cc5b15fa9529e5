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
                          struct ordered *guests)
{
    const size_t n = guests_of(state, host, guests);
    uint64_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (state->fleet->guests[guests[i].index].pinned)
            kept |= state->fleet->guests[guests[i].index].apart;
    for (size_t i = 0; i < n && moves->n < state->options.max_moves; i++) {
        const struct plan_shape shape = plan_shape_of(state->fleet, guests[i].index);
        size_t to = PLAN_NOWHERE;

        if (!shape.pinned && shape.apart & kept)
            to = plan_best_host(state, &shape, host, true);
        if (to != PLAN_NOWHERE)
            move(state, moves, guests[i].index, to, PLAN_SEPARATE);
        else
            kept |= shape.apart;
    }
}

static void separate(struct plan_state *state, struct plan_moves *moves, struct ordered *guests)
{
    for (size_t h = 0; h < state->fleet->n_hosts; h++)
        if (!plan_is_fixed(&state->fleet->hosts[h]) && plan_count_together(state, h) > 0)
            separate_host(state, moves, h, guests);
}

/* --- relieving -------------------------------------------------------------------------------- */

/* Returns true if the plan moved the guest. */
static bool was_moved(const struct plan_moves *moves, size_t guest)
{
    for (size_t m = 0; m < moves->n; m++)
        if (moves->move[m].guest == guest)
            return true;
    return false;
}

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

        if (shape.pinned || was_moved(moves, guests[i].index))
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

/* --- host failure ----------------------------------------------------------------------------- */

struct fallen {
    size_t guests; /* without a place */
    double bytes;  /* RAM of these */
};

/* Moves the guests of a host that fails, as far as they find places; the host stays gone. */
static struct fallen fail(struct plan_state *state, struct plan_moves *moves, size_t host,
                          struct ordered *guests)
{
    const size_t n = guests_of(state, host, guests);
    struct fallen fallen = {0};

    state->gone[host] = true;
    for (size_t i = 0; i < n; i++) {
        const struct plan_shape shape = plan_shape_of(state->fleet, guests[i].index);
        const size_t to = plan_best_host(state, &shape, host, true);

        if (to == PLAN_NOWHERE) {
            fallen.guests++;
            fallen.bytes += shape.ram_bytes;
        } else {
            move(state, moves, guests[i].index, to, PLAN_RELIEVE);
        }
    }
    return fallen;
}

int plan_host_fails(struct plan_state *state, size_t host, size_t *unplaced, double *unplaced_bytes)
{
    cleanup_free struct ordered *guests = calloc(state->fleet->n_guests + 1, sizeof(*guests));
    const bool gone = state->gone[host];
    struct fallen fallen = {0};
    struct plan_moves moves;
    int rc = plan_moves_make(&moves, state->fleet);

    if (!guests)
        rc = -ENOMEM;
    if (rc == 0)
        fallen = fail(state, &moves, host, guests);
    *unplaced = fallen.guests;
    if (unplaced_bytes)
        *unplaced_bytes = fallen.bytes;
    undo(state, &moves, 0);
    state->gone[host] = gone;
    free(moves.move);
    return rc;
}

struct failing {
    struct plan_state *state;
    struct plan_moves moves; /* while hosts fail */
    struct ordered *guests;  /* room for those of one host for each failure */
    size_t worst;            /* the host that failed badly last: tried first */
};

/* Returns true if all guests find places while the host, and any @p more after it, fail. Each pair
 * is tried once: a later host with an earlier one is the same pair. */
static bool survives_host(struct failing *failing, size_t host, size_t more)
{
    struct plan_state *state = failing->state;
    const size_t before = failing->moves.n;
    bool survives;

    if (state->gone[host])
        return true;
    survives = fail(state, &failing->moves, host, failing->guests).guests == 0;
    for (size_t h = host + 1; survives && more > 0 && h < state->fleet->n_hosts; h++)
        survives = survives_host(failing, h, more - 1);
    undo(state, &failing->moves, before);
    state->gone[host] = false;
    return survives;
}

static bool survives(struct failing *failing)
{
    struct plan_state *state = failing->state;

    if (!survives_host(failing, failing->worst, 0))
        return false;
    for (size_t h = 0; h < state->fleet->n_hosts; h++)
        if (!survives_host(failing, h, state->options.spare - 1)) {
            failing->worst = h;
            return false;
        }
    return true;
}

static int make_failing(struct failing *failing, struct plan_state *state)
{
    int rc = plan_moves_make(&failing->moves, state->fleet);

    /* A guest may have to move again when the next host fails. */
    free(failing->moves.move);
    failing->moves.move = calloc(state->options.spare * state->fleet->n_guests + 1,
                                 sizeof(*failing->moves.move));
    failing->guests = calloc(state->fleet->n_guests + 1, sizeof(*failing->guests));
    failing->state = state;
    return rc == 0 && failing->moves.move && failing->guests ? 0 : -ENOMEM;
}

static void free_failing(struct failing *failing)
{
    free(failing->moves.move);
    free(failing->guests);
}

int plan_survives(struct plan_state *state, bool *kept)
{
    struct failing failing = {0};
    int rc = state->fleet->n_hosts > 0 ? make_failing(&failing, state) : 0;

    *kept = rc == 0 &&
            (state->options.spare == 0 || state->fleet->n_hosts == 0 || survives(&failing));
    free_failing(&failing);
    return rc;
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

/* Finds room for guests of the host that have ended. */
static bool place_past(struct plan_state *state, size_t host)
{
    const struct plan_shape shape = plan_shape_of_past(state->fleet, host);
    size_t to;

    if (state->fleet->past[host].n_guests == 0 || state->fleet->past[host].left_out)
        return true;
    to = plan_best_host(state, &shape, host, false);
    if (to == PLAN_NOWHERE)
        return false;
    plan_move_past(state, host, to);
    return true;
}

/* Returns true if the host is emptied; it is gone then. */
static bool try_to_empty(struct plan_state *state, struct plan_moves *moves, size_t host,
                         struct ordered *guests)
{
    const struct plan_load *load = &state->loads[host];
    const size_t before = moves->n;

    if (state->gone[host] || load->n_guests == 0 || load->n_pinned > 0 ||
        plan_is_fixed(&state->fleet->hosts[host]) ||
        load->n_guests > state->options.max_moves - moves->n || received(state, moves, host))
        return false;

    const size_t n = guests_of(state, host, guests);

    state->gone[host] = place_all(state, moves, host, guests, n) && place_past(state, host);
    if (!state->gone[host])
        undo(state, moves, before);
    return state->gone[host];
}

/* Tries to empty hosts one after the other. With hosts to spare each is checked; when many in a row
 * could be emptied, several are checked at once, for each check lets all hosts fail in turn. */
static void empty_hosts(struct plan_state *state, struct plan_moves *moves,
                        const struct ordered *hosts, struct ordered *guests,
                        struct failing *failing)
{
    const size_t n = state->fleet->n_hosts;
    size_t each = 1;

    for (size_t at = 0; at < n;) {
        const size_t before = moves->n;
        const size_t end = n - at < each ? n : at + each;
        size_t emptied = 0;

        for (size_t h = at; h < end; h++)
            emptied += try_to_empty(state, moves, hosts[h].index, guests);
        if (emptied == 0 || state->options.spare == 0 || survives(failing)) {
            at = end;
            each *= emptied > 0 ? 2 : 1;
            continue;
        }
        undo(state, moves, before);
        for (size_t h = at; h < end; h++) {
            state->gone[hosts[h].index] = false;
            plan_move_past(state, hosts[h].index, hosts[h].index);
        }
        at += end - at == 1;
        each = end - at > 1 ? (end - at) / 2 : 1;
    }
}

static void drain_host(struct plan_state *state, struct plan_moves *moves, size_t host,
                       struct ordered *guests)
{
    const size_t n = guests_of(state, host, guests);

    for (size_t i = 0; i < n; i++) {
        const struct plan_shape shape = plan_shape_of(state->fleet, guests[i].index);
        size_t to = PLAN_NOWHERE;

        if (!shape.pinned)
            to = plan_best_host(state, &shape, host, false);
        if (!shape.pinned && to == PLAN_NOWHERE)
            to = plan_best_host(state, &shape, host, true);
        if (to != PLAN_NOWHERE)
            move(state, moves, guests[i].index, to, PLAN_DRAIN);
    }
    place_past(state, host);
}

int plan_drain(struct plan_state *state, struct plan_moves *moves)
{
    const struct plan_fleet *fleet = state->fleet;
    cleanup_free struct ordered *guests = calloc(fleet->n_guests + 1, sizeof(*guests));

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
    cleanup_free struct ordered *hosts = calloc(n + 1, sizeof(*hosts));
    cleanup_free struct ordered *guests = calloc(state->fleet->n_guests + 1, sizeof(*guests));
    struct failing failing = {0};
    int rc = hosts && guests ? make_failing(&failing, state) : -ENOMEM;

    if (rc == 0) {
        separate(state, moves, guests);
        relieve(state, moves, guests);
        for (size_t h = 0; h < n; h++)
            hosts[h] = (struct ordered){h, (double)state->loads[h].n_guests,
                                        plan_load_peak(&state->loads[h], NULL)};
        qsort(hosts, n, sizeof(*hosts), compare_ordered);
        empty_hosts(state, moves, hosts, guests, &failing);
    }
    free_failing(&failing);
    return rc;
}
