// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file load.h  The joint need of a set of guests on one host, step by step, and whether one more
 * fits. Pure functions.
 *
 * A guest fits when
 *   - no guest on the host must be apart from it;
 *   - with its CPUs the sum is within those of the host, if both are known;
 *   - in the replay, the sum is above the limit in at most the share `risk` of the steps;
 *   - in each of the 48 slots mean + z sqrt(sum of variances) is within the limit: z is that of the
 *     risk, or 5 where the host has less than 14 days of history (N-sigma: Bashir et al., "Take it
 *     to the limit", EuroSys 2021). If guests happened not to burst together so far, this still
 *     holds when they do.
 */
#pragma once

#include "decide/plan/need.h"
#include "decide/plan/prepare.h"

struct plan_load {
    float *joint; /* bytes, for each time */
    float mean_bytes[PLAN_SLOTS], variance[PLAN_SLOTS];
    double limit_bytes; /* capacity less reserve */
    double limit_cpus;  /* 0: none */
    double cpus;        /* used by all its guests */
    double z;           /* number of deviations above the mean that must be within the limit */
    double ram_bytes;   /* assigned */
    uint64_t apart;     /* bits of all its guests */
    size_t n_guests, n_pinned;
    size_t n_past; /* hosts whose past is here: 1, or more when they were emptied */
};

/** A new or existing guest, or the ended ones of a host, as used in planning. */
struct plan_shape {
    const uint8_t *series;
    double unit_bytes, ram_bytes;
    double cpus; /* 0: not known */
    const struct plan_slot *slots;
    uint64_t apart;
    size_t more; /* a unit's number of guests, less one */
    bool pinned;
};

/** Guests of a host that belong together move as one. */
struct plan_unit {
    size_t leader;     /* the first guest of the unit; alone, the guest itself */
    uint8_t *series;   /* of the leader's unit if it has several guests; else NULL */
    double unit_bytes; /* of a code */
    struct plan_slot *slots;
};

/** Largest number of new guests. */
#define PLAN_PLACE_MAX 64

/** A fleet, and the current place of each guest while moves are planned. */
struct plan_state {
    const struct plan_fleet *fleet;
    struct plan_options options;
    double z;       /* for a host with the fleet's longest history */
    size_t allowed; /* number of steps that may be above the limit */
    struct plan_load *loads;
    size_t *at;             /* the host of each guest */
    struct plan_unit *unit; /* of each guest */
    size_t *past_at;        /* the host that has room for each host's past */
    double *rank;           /* rank of each host, for placing */
    bool *gone;             /* hosts that take no guests: they fail, or the plan empties them */
    float *draft;           /* n_times values: scratch for plan_need_of() */
    /* new guests that were placed, by plan_place_new() */
    struct plan_shape new_guest[PLAN_PLACE_MAX];
    size_t new_at[PLAN_PLACE_MAX], n_new;
};

/** Makes the state of a fleet after plan_prepare(). Returns 0 or -ENOMEM; free it with
 * plan_state_free(). */
int plan_state_make(struct plan_state *state, const struct plan_fleet *fleet,
                    const struct plan_options *options);
void plan_state_free(struct plan_state *state);

struct plan_shape plan_shape_of(const struct plan_fleet *fleet, size_t guest);

void plan_load_add(const struct plan_state *state, struct plan_load *load,
                   const struct plan_shape *shape);
/** Removes the guest's need. Its bits in apart stay. */
void plan_load_remove(const struct plan_state *state, struct plan_load *load,
                      const struct plan_shape *shape);

/** Returns how many times that many CPUs are left; HUGE_VAL: they are not limited. */
double plan_cpus_left(const struct plan_load *load, double cpus);

bool plan_load_fits(const struct plan_state *state, const struct plan_load *load,
                    const struct plan_shape *shape);
/** Returns true if the load itself is within risk and limit. */
bool plan_load_holds(const struct plan_state *state, const struct plan_load *load);
/** Returns true if the load without that guest is within risk and limit. */
bool plan_load_holds_without(const struct plan_state *state, const struct plan_load *load,
                             const struct plan_shape *shape);

/** Returns the largest mean + z sqrt(variance) over the slots with one more guest; NULL: without
 * it. */
double plan_load_peak(const struct plan_load *load, const struct plan_shape *shape);

/** Returns the needs of the host's guests that have ended; they have no RAM. */
struct plan_shape plan_shape_of_past(const struct plan_fleet *fleet, size_t host);

/** Returns true if the host has guests that have ended and are planned for. */
bool plan_has_past(const struct plan_fleet *fleet, size_t host);

/** Makes another host have the room for them. */
void plan_move_past(struct plan_state *state, size_t host, size_t to);

/** Returns the shape of the unit that a guest leads. */
struct plan_shape plan_shape_of_unit(const struct plan_state *state, size_t leader);

/** Makes one unit of those on a host that have that number of plan_guest.together. Returns 0 or
 * -ENOMEM. */
int plan_unite(struct plan_state *state, size_t together, size_t host);
void plan_units_free(struct plan_state *state);

/** Moves the unit of a guest that leads one; *state has their current place. */
void plan_move_guest(struct plan_state *state, size_t guest, size_t to);

/** Adds a new guest to a host. Its series and slots must outlive the state. */
void plan_place_new(struct plan_state *state, const struct plan_shape *shape, size_t host);

/** Moves one of the new guests. */
void plan_move_new(struct plan_state *state, size_t i, size_t to);
