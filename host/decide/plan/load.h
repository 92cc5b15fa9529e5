// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file load.h  What a set of guests needs on one host together, step by step, and whether one more
 * fits. Pure functions.
 *
 * A guest fits when
 *  - no guest there is one that it must not be with;
 *  - replayed, the sum is above the limit for at most the share `risk` of the steps;
 *  - in each of the 48 slots mean + z sqrt(sum of variances) is within the limit: z is that of the
 *    risk, or 5 where the host has less than 14 days of history (N-sigma: Bashir et al., "Take it
 * to the limit", EuroSys 2021). Where guests happened not to burst together, this holds when they
 * do.
 */
#pragma once

#include "decide/plan/need.h"
#include "decide/plan/prepare.h"

struct plan_load {
    float *joint; /* bytes, by time */
    float mean_bytes[PLAN_SLOTS], variance[PLAN_SLOTS];
    double limit_bytes; /* capacity less reserve */
    double z;           /* deviations above the mean that must be within it */
    double ram_bytes;   /* assigned */
    uint64_t apart;     /* of all its guests */
    size_t n_guests, n_pinned;
};

/** A fleet and where its guests are now, on the way to where they should be. */
struct plan_state {
    const struct plan_fleet *fleet;
    struct plan_options options;
    double z;       /* as of a host with the fleet's longest history */
    size_t allowed; /* steps above the limit */
    struct plan_load *loads;
    size_t *at;   /* the host of each guest */
    double *rank; /* of each host: for placing */
    float *draft; /* n_times: for plan_need_of() */
};

/** Of a fleet after plan_prepare(). 0; -ENOMEM; free it with plan_state_free(). */
int plan_state_make(struct plan_state *state, const struct plan_fleet *fleet,
                    const struct plan_options *options);
void plan_state_free(struct plan_state *state);

/** What comes, or is there, as it is planned with. */
struct plan_shape {
    const uint8_t *series;
    double unit_bytes, ram_bytes;
    const struct plan_slot *slots;
    uint64_t apart;
    bool pinned;
};
struct plan_shape plan_shape_of(const struct plan_fleet *fleet, size_t guest);

void plan_load_add(const struct plan_state *state, struct plan_load *load,
                   const struct plan_shape *shape);
/** The guests' bits are found again by plan_load_rebuild(). */
void plan_load_remove(const struct plan_state *state, struct plan_load *load,
                      const struct plan_shape *shape);

bool plan_load_fits(const struct plan_state *state, const struct plan_load *load,
                    const struct plan_shape *shape);
/** Is the load itself within risk and limit? */
bool plan_load_holds(const struct plan_state *state, const struct plan_load *load);
/** And without that guest? */
bool plan_load_holds_without(const struct plan_state *state, const struct plan_load *load,
                             const struct plan_shape *shape);

/** The largest of mean + z sqrt(variance) over the slots with one more; NULL: as it is. */
double plan_load_peak(const struct plan_load *load, const struct plan_shape *shape);

/** Moves a guest; *state says where to. */
void plan_move_guest(struct plan_state *state, size_t guest, size_t to);
