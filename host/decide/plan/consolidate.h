// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file consolidate.h  Where guests should be: relieves hosts that are short, empties hosts, and
 * checks whether the others can take the guests of a failed host. Pure functions.
 *
 * Guests are placed in the order of decreasing peaks, each on the fullest host that it fits on
 * (best fit decreasing; Johnson, "Near-optimal bin packing algorithms", MIT 1973). A host is
 * emptied completely or not at all, those with few guests first, and no guest is moved twice. So a
 * plan never makes a host short that was not, never uses more hosts, leaves pinned guests in place,
 * and keeps guests apart that must be. An empty host gets a guest only to relieve or drain another
 * host, or to separate guests. Each move fits when those before it have been made.
 */
#pragma once

#include "decide/plan/load.h"

enum plan_why {
    PLAN_RELIEVE,  /* the host is short */
    PLAN_SEPARATE, /* it must be apart from another guest of the host */
    PLAN_DRAIN,    /* the host is to be empty: plan_host.drain */
    PLAN_EMPTY,    /* the host could be emptied */
};

struct plan_move {
    size_t guest, from, to;
    enum plan_why why;
};

struct plan_moves {
    struct plan_move *move; /* has room for one move of each guest */
    size_t n;
};

/** Returns 0 or -ENOMEM. Free moves->move. */
int plan_moves_make(struct plan_moves *moves, const struct plan_fleet *fleet);

/** Moves the guests of hosts that are to be drained, those with the highest peaks first; guests
 * that are pinned or have no place stay. *state is then as after the moves, and these hosts are
 * gone. Returns 0 or -ENOMEM. */
int plan_drain(struct plan_state *state, struct plan_moves *moves);

/** Returns how many guests of the host share a bit of apart with another one there. */
size_t plan_count_together(const struct plan_state *state, size_t host);

/** Separates guests that must be apart, relieves hosts, then empties hosts, with at most
 * options.max_moves; no host is emptied if then options.spare hosts could not fail. *state is then
 * as after the moves, and hosts that were emptied are gone. Returns 0 or -ENOMEM. */
int plan_consolidate(struct plan_state *state, struct plan_moves *moves);

/** Sets *kept if all guests have places while any options.spare hosts fail at once. *state is
 * unchanged. Returns 0 or -ENOMEM. */
int plan_survives(struct plan_state *state, bool *kept);

/** Finds how many guests of a failed host, with how much RAM (NULL: not wanted), find no place on
 * the other hosts. *state is unchanged. Returns 0 or -ENOMEM. */
int plan_host_fails(struct plan_state *state, size_t host, size_t *unplaced,
                    double *unplaced_bytes);

/** Returns the best host for the shape: the fullest one on which it fits, never @p but; or
 * PLAN_NOWHERE. */
#define PLAN_NOWHERE ((size_t)-1)
size_t plan_best_host(struct plan_state *state, const struct plan_shape *shape, size_t but,
                      bool empty_too);
