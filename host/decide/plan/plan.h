// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file plan.h  The whole plan of a fleet: the need of each host, how long its memory suffices, the
 * worst case, which guests should be where, and what still fits. A pure function over the data of
 * fleet.h; the header of each part names its method and source.
 */
#pragma once

#include "decide/plan/capacity.h"
#include "decide/plan/consolidate.h"
#include "decide/plan/need.h"
#include "decide/plan/price.h"

struct plan_host_result {
    size_t n_guests, n_guests_after; /* before and after the moves */
    double ram_bytes, limit_bytes;   /* assigned; capacity less reserve */
    struct plan_need need;           /* before prepare.h */
    /* need at the risk with the factors of prepare.h, before the moves */
    double planned_bytes;
    double planned_after_bytes; /* the same after the moves */
    double swap_bytes;          /* swap needed if all guests touch all their RAM */
    struct plan_fallen fails;   /* what happens if this host fails before the moves */
    size_t past_at; /* after the moves, the host with room for guests of this one that have ended */
    bool emptied;   /* by the moves */
    struct plan_fallen fails_after;  /* after the moves, without the hosts that they empty */
    size_t together, together_after; /* guests that must be apart from another on this host */
    double cpus, cpus_after;         /* used by its guests */
    size_t parted, parted_after;     /* guests that belong together with one elsewhere */
    struct plan_runway runway;
    /* guests of place_bytes[0] that would fit; after the moves, on hosts that they do not empty */
    double how_many, how_many_after;
    /* the host is partly known: how_many and fails are not known */
    bool partial;
};

struct plan_request {
    struct plan_options options;
    double place_bytes[PLAN_PLACE_MAX]; /* RAM of new guests */
    size_t n_place;
    bool consolidate;           /* look for moves */
    bool drain;                 /* some hosts are to be drained */
    bool cpus;                  /* the CPUs of guests were asked for */
    struct migrate_terms terms; /* of moves */
    /* Called with the progress, 0 .. 1; NULL: not called. */
    void (*progress)(double done, void *context);
    void *context;
};

/** Returns true if the plan has moves. */
static inline bool plan_has_moves(const struct plan_request *request)
{
    return request->consolidate || request->drain;
}

struct plan_result {
    struct plan_host_result *hosts; /* in the order of fleet.hosts */
    struct plan_moves moves;
    size_t place[PLAN_PLACE_MAX]; /* host of each new guest, after the moves; or PLAN_NOWHERE */
    struct plan_ratio ratio;
    double unknown; /* share of guest time without known needs; see prepare.h */
    size_t emptied, short_before, short_after; /* numbers of hosts */
    /* options.spare hosts may fail: before and after the moves, and when the new guests are there
     */
    bool spared_before, spared_after, spared_with_new;
};

/** Changes the fleet's series to those used in planning, so no second plan can be made from it.
 * Returns 0 or -ENOMEM; free the result with plan_result_free(). */
int plan_make(struct plan_fleet *fleet, const struct plan_request *request,
              struct plan_result *result);
void plan_result_free(struct plan_result *result);
