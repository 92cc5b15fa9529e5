// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file prepare.h  From series as they were read to what is planned with. Pure functions.
 *
 * Each guest's need is multiplied by
 *
 *   (1 + 1 / days of its history) x (1 + trend x horizon / p99), the trend only if it is certain
 *
 * The first is the confidence multiplier of the Kubernetes vertical pod autoscaler
 * (recommender/logic/estimator.go), the second is trend.h. A guest never needs more than its RAM.
 *
 * What is not known of a guest is filled in before: with what it needed at the same time of another
 * week, the nearest first, or else of another day, so that guests that are busy together stay so;
 * with its p99 only where there is none, and with all its RAM if nothing is known of it at all.
 */
#pragma once

#include "decide/plan/fleet.h"

struct plan_options {
    double risk;      /* the share of the time for which a host may be short: 0 .. 1 */
    double horizon_s; /* how far ahead trends are followed */
    bool bare;        /* without both factors, and without the check by slots: the oracle */
    size_t max_moves;
};

/** The quantiles, the days and the trend of all guests, from their series, and the days of their
 * hosts; then fills the series in; once. 0; -ENOMEM */
int plan_profile(struct plan_fleet *fleet);

/** Applies the factors to the series, and summarises the slots; after plan_profile(), once. */
void plan_prepare(struct plan_fleet *fleet, const struct plan_options *options);

/** How many deviations above the mean are exceeded with probability @p risk, of a normal
 * distribution. */
double plan_z(double risk);

/** What the guest should have been assigned: max(1.15 x p99 of the WSS's upper bound, used) x
 * (1 + 1 / days), at most four times of what it has; 0: not known. A WSS near what is assigned is a
 * lower bound: then the need is no less. */
double plan_right_size(const struct plan_guest *guest);
