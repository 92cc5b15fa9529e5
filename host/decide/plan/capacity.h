// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file capacity.h  Guests that are still to come, and the overcommit ratio for a scheduler. Pure
 * functions.
 *
 * A new guest is like the existing ones (measure/estimate/packing.h): at each step one of them is
 * drawn, and the new guest needs the same share of its RAM as the drawn guest did at that step. So
 * it is busy when the fleet is.
 */
#pragma once

#include "decide/plan/load.h"

/** Makes the shape of a new guest with that much RAM. *series (n_times) and *slots (PLAN_SLOTS) are
 * the caller's, and must outlive the shape. The fleet must have at least one guest. */
struct plan_shape plan_new_guest(const struct plan_fleet *fleet, double ram_bytes,
                                 uint64_t *random_state, uint8_t *series, struct plan_slot *slots);

/** Largest number of steps, evenly spaced, at which guests are drawn. */
#define PLAN_FIT_STEPS 5000

/** Returns how many more guests of that size fit on a host at the risk: the number for which at
 * least 1 - risk of the steps have room. Each guest is drawn anew (packing_fit()) from the host's
 * guests, or from the fleet if the host has none. Returns 0 for a stale host. If the risk is below
 * 1 / PLAN_FIT_STEPS, every step must have room. @p draws: n_times. */
double plan_how_many(const struct plan_state *state, size_t host, double ram_bytes,
                     uint64_t *random_state, double *draws);

struct plan_ratio {
    double ratio;  /* assigned RAM / (capacity - reserve); 0: not known */
    bool at_least; /* even all guests of the fleet together fit on one host */
};

/**
 * The overcommit ratio at the risk (Nova's ram_allocation_ratio; KubeVirt's memoryOvercommit is 100
 * times it): hosts with the fleet's median limit are filled with guests drawn from the fleet until
 * one does not fit; 95 % of 200 such hosts reach at least the ratio.
 * @return 0; -ENOMEM
 */
int plan_ratio_of(const struct plan_state *state, uint64_t *random_state, struct plan_ratio *ratio);
