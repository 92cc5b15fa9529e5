// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file capacity.h  Guests that are still to come, and the ratio that a scheduler should be given.
 * Pure functions.
 *
 * A new guest is like those that are there (measure/estimate/packing.h): at each step one of them
 * is drawn, and the share of its RAM that it needed at that very step is the new guest's. So it is
 * busy when the fleet is.
 */
#pragma once

#include "decide/plan/load.h"

/** Makes the shape of a new guest of so much RAM; *series (n_times) and *slots (PLAN_SLOTS) are the
 * caller's, and must outlive it. The fleet has at least one guest. */
struct plan_shape plan_new_guest(const struct plan_fleet *fleet, double ram_bytes,
                                 uint64_t *random_state, uint8_t *series, struct plan_slot *slots);

/** So many steps at most, evenly spaced, are drawn at. */
#define PLAN_FIT_STEPS 5000

/** How many more guests of that size fit on a host at the risk: the number that at least 1 - risk
 * of the steps have room for, each guest drawn anew (packing_fit()) and like one of the host's, or
 * where it has none like any of the fleet's. On a stale host none. Of a risk below 1 /
 * PLAN_FIT_STEPS: that each of them has room for.
 * @p draws: n_times. */
double plan_how_many(const struct plan_state *state, size_t host, double ram_bytes,
                     uint64_t *random_state, double *draws);

struct plan_ratio {
    double ratio;  /* assigned to capacity less reserve; 0: not known */
    bool at_least; /* even all guests of the fleet together fit on one host */
};

/**
 * The overcommit ratio at the risk (Nova's ram_allocation_ratio; KubeVirt's memoryOvercommit is 100
 * times it): hosts of the fleet's median limit are filled with guests drawn from the fleet until
 * one does not fit; of 200 such hosts 95 % take the ratio and more.
 * @return 0; -ENOMEM
 */
int plan_ratio_of(const struct plan_state *state, uint64_t *random_state, struct plan_ratio *ratio);
