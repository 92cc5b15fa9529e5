// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file spare.h  Whether the other hosts can take the guests of hosts that fail. Pure functions.
 *
 * Guests that have ended, but may come back, need room, too: an office machine that is off at night
 * must find a host in the morning.
 */
#pragma once

#include "decide/plan/moves.h"

/** The part of a host that finds no place on the others when it fails. */
struct plan_fallen {
    size_t guests;
    double bytes; /* RAM of these */
    bool past;    /* there is no room for its guests that have ended */
};

/** *state is unchanged. Returns 0 or -ENOMEM. */
int plan_host_fails(struct plan_state *state, size_t host, struct plan_fallen *fallen);

/** Sets *kept if all guests have places while any options.spare hosts fail at once. *state is
 * unchanged. Returns 0 or -ENOMEM. */
int plan_survives(struct plan_state *state, bool *kept);

/** For many calls with one state. */
struct plan_failing {
    struct plan_state *state;
    struct plan_moves moves;     /* while hosts fail */
    struct plan_ordered *guests; /* room for those of one host for each failure */
    size_t worst;                /* the host that failed badly last: tried first */
};

/** Returns 0 or -ENOMEM. Call plan_failing_free() even after an error. */
int plan_failing_make(struct plan_failing *failing, struct plan_state *state);
void plan_failing_free(struct plan_failing *failing);

/** As plan_survives(); options.spare is above 0. */
bool plan_survives_all(struct plan_failing *failing);
