// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file consolidate.h  Where guests should be: hosts that are short relieved, hosts emptied, and
 * what if one fails. Pure functions.
 *
 * Guests are placed in the order of decreasing peaks, each on the fullest host that it fits on
 * (best fit decreasing; Johnson, "Near-optimal bin packing algorithms", MIT 1973). A host is
 * emptied whole or not at all, those with few guests first, and no guest is moved twice. So a plan
 * never makes a host short that was not, never uses more hosts, and keeps pinned guests and those
 * that are to be apart. An empty host gets no guest but to relieve another.
 */
#pragma once

#include "decide/plan/load.h"

enum plan_why {
    PLAN_RELIEVE, /* the host is short */
    PLAN_EMPTY,   /* the host could be emptied */
};

struct plan_move {
    size_t guest, from, to;
    enum plan_why why;
};

struct plan_moves {
    struct plan_move *move; /* room for a move of each guest */
    size_t n;
};

/** 0; -ENOMEM. Free moves->move. */
int plan_moves_make(struct plan_moves *moves, const struct plan_fleet *fleet);

/** Relieves, then empties, with at most options.max_moves; *state is then as after them. 0;
 * -ENOMEM */
int plan_consolidate(struct plan_state *state, struct plan_moves *moves);

/** If the host fails: how many of its guests, and of how much RAM, find no place on the others.
 * *state is as before. 0; -ENOMEM */
int plan_host_fails(struct plan_state *state, size_t host, size_t *unplaced,
                    double *unplaced_bytes);

/** The best host for it: the fullest that it fits on, none of them @p but; PLAN_NOWHERE. */
#define PLAN_NOWHERE ((size_t)-1)
size_t plan_best_host(struct plan_state *state, const struct plan_shape *shape, size_t but,
                      bool empty_too);
