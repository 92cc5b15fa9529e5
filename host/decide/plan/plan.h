// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file plan.h  The whole plan of a fleet: what each host needs, for how long it suffices, what if
 * the worst comes, which guests should be where, and what still fits. A pure function over the
 * data of fleet.h; each part says in its own header how, and after whom.
 */
#pragma once

#include "decide/plan/capacity.h"
#include "decide/plan/consolidate.h"
#include "decide/plan/need.h"

struct plan_host_result {
    size_t n_guests, n_guests_after; /* before and after the moves */
    double ram_bytes, limit_bytes;   /* assigned; capacity less reserve */
    struct plan_need need;           /* as it was */
    double planned_bytes;            /* the need at the risk with the factors of prepare.h, */
    double planned_after_bytes;      /* and after the moves */
    double swap_bytes;               /* needed if all guests touch all they have */
    size_t unplaced;                 /* guests without a place if this host fails, */
    double unplaced_bytes;           /* and their RAM; before the moves */
    struct plan_runway runway;
    double how_many; /* guests of place_bytes[0] that would fit, before the moves */
};

#define PLAN_PLACE_MAX 64

struct plan_request {
    struct plan_options options;
    double place_bytes[PLAN_PLACE_MAX]; /* RAM of new guests */
    size_t n_place;
    bool consolidate; /* look for moves */
    /* Called with what is done, 0 .. 1; NULL: not. */
    void (*progress)(double done, void *context);
    void *context;
};

struct plan_result {
    struct plan_host_result *hosts; /* as fleet.hosts */
    struct plan_moves moves;
    size_t place[PLAN_PLACE_MAX]; /* the host of each new guest, after the moves; PLAN_NOWHERE */
    struct plan_ratio ratio;
    double unknown; /* share of guest time of which nothing is known; see prepare.h */
    size_t emptied, short_before, short_after; /* hosts */
};

/** The fleet's series are then as planned with, so no second plan can be made of it. 0; -ENOMEM;
 * free the result with plan_result_free(). */
int plan_make(struct plan_fleet *fleet, const struct plan_request *request,
              struct plan_result *result);
void plan_result_free(struct plan_result *result);
