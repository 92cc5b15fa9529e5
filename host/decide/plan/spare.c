// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/plan/spare.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>

/* Finds room for the ended guests that the host accounts for, its own and those of other hosts. */
static bool fail_past(struct plan_state *state, struct plan_moves *moves, size_t host)
{
    const struct plan_fleet *fleet = state->fleet;
    bool placed = true;

    for (size_t h = 0; h < fleet->n_hosts; h++) {
        struct plan_shape shape;
        size_t to;

        if (state->past_at[h] != host || !plan_has_past(fleet, h))
            continue;
        shape = plan_shape_of_past(fleet, h);
        to = plan_best_host(state, &shape, host, true);
        if (to == PLAN_NOWHERE)
            placed = false;
        else
            plan_move(state, moves, fleet->n_guests + h, to, PLAN_RELIEVE);
    }
    return placed;
}

/* Moves the guests of a host that fails, as far as they find places; the host stays gone. */
static struct plan_fallen fail(struct plan_state *state, struct plan_moves *moves, size_t host,
                               struct plan_ordered *guests)
{
    const size_t n = plan_guests_of(state, host, guests);
    struct plan_fallen fallen = {0};

    state->gone[host] = true;
    for (size_t i = 0; i < n; i++) {
        const struct plan_shape shape = plan_shape_at(state, guests[i].index);
        const size_t to = plan_best_host(state, &shape, host, true);

        if (to == PLAN_NOWHERE) {
            fallen.guests += 1 + shape.more;
            fallen.bytes += shape.ram_bytes;
        } else {
            plan_move(state, moves, guests[i].index, to, PLAN_RELIEVE);
        }
    }
    fallen.past = !fail_past(state, moves, host);
    return fallen;
}

int plan_host_fails(struct plan_state *state, size_t host, struct plan_fallen *fallen)
{
    const size_t placed = plan_count_placed(state);
    cleanup_free struct plan_ordered *guests = calloc(placed + 1, sizeof(*guests));
    const bool gone = state->gone[host];
    struct plan_moves moves;
    int rc = plan_moves_make(&moves, placed);

    *fallen = (struct plan_fallen){0};
    if (!guests)
        rc = -ENOMEM;
    if (rc == 0)
        *fallen = fail(state, &moves, host, guests);
    plan_undo(state, &moves, 0);
    state->gone[host] = gone;
    free(moves.move);
    return rc;
}

/* Returns true if all guests find places while the host, and any @p more after it, fail. Each pair
 * is tried once: a later host with an earlier one is the same pair. A host that is drained may fail
 * before it is empty. */
static bool survives_host(struct plan_failing *failing, size_t host, size_t more)
{
    struct plan_state *state = failing->state;
    const size_t before = failing->moves.n;
    const bool gone = state->gone[host];
    struct plan_fallen fallen;
    bool survives;

    if (gone && state->loads[host].n_guests == 0)
        return true;
    fallen = fail(state, &failing->moves, host, failing->guests);
    survives = fallen.guests == 0 && !fallen.past;
    for (size_t h = host + 1; survives && more > 0 && h < state->fleet->n_hosts; h++)
        survives = survives_host(failing, h, more - 1);
    plan_undo(state, &failing->moves, before);
    state->gone[host] = gone;
    return survives;
}

bool plan_survives_all(struct plan_failing *failing)
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

int plan_failing_make(struct plan_failing *failing, struct plan_state *state)
{
    const size_t placed = plan_count_placed(state);

    /* A guest may have to move again when the next host fails. */
    *failing = (struct plan_failing){.state = state};
    failing->guests = calloc(placed + 1, sizeof(*failing->guests));
    return plan_moves_make(&failing->moves, state->options.spare * placed) == 0 && failing->guests
               ? 0
               : -ENOMEM;
}

void plan_failing_free(struct plan_failing *failing)
{
    free(failing->moves.move);
    free(failing->guests);
}

int plan_survives(struct plan_state *state, bool *kept)
{
    struct plan_failing failing = {0};
    int rc = state->fleet->n_hosts > 0 ? plan_failing_make(&failing, state) : 0;

    *kept = rc == 0 && (state->options.spare == 0 || state->fleet->n_hosts == 0 ||
                        plan_survives_all(&failing));
    plan_failing_free(&failing);
    return rc;
}
