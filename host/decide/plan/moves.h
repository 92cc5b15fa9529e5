// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file moves.h  Moves while a plan is made, and undoing them. Pure functions.
 *
 * What has a place is numbered: the fleet's guests; then, for each host, its guests that have ended
 * (past.h) as one; then new guests, once they are placed.
 */
#pragma once

#include "decide/plan/load.h"

enum plan_why {
    PLAN_RELIEVE,  /* the host is short */
    PLAN_JOIN,     /* it belongs together with a guest of another host */
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

/** Makes room for that many moves. Returns 0 or -ENOMEM. Free moves->move. */
int plan_moves_make(struct plan_moves *moves, size_t n);

void plan_move(struct plan_state *state, struct plan_moves *moves, size_t guest, size_t to,
               enum plan_why why);

/** Undoes the last moves, until @p down_to are left. */
void plan_undo(struct plan_state *state, struct plan_moves *moves, size_t down_to);

/** Returns how many there are that have a place: see above. */
size_t plan_count_placed(const struct plan_state *state);

struct plan_shape plan_shape_at(const struct plan_state *state, size_t guest);

struct plan_ordered {
    size_t index;
    double first, second; /* ascending */
};
int plan_compare_ordered(const void *a, const void *b);

/** Lists the guests of a host by decreasing peaks, and returns their number. Guests that belong
 * together are one; those that have ended are not among them. @p guests: plan_count_placed() */
size_t plan_guests_of(const struct plan_state *state, size_t host, struct plan_ordered *guests);

/** Returns the best host for the shape: the fullest one on which it fits, never @p but; or
 * PLAN_NOWHERE. */
#define PLAN_NOWHERE ((size_t)-1)
size_t plan_best_host(struct plan_state *state, const struct plan_shape *shape, size_t but,
                      bool empty_too);
