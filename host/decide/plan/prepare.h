// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file prepare.h  Turns the series as read into the series used in planning. Pure functions.
 *
 * Each guest's need is multiplied by
 *
 *   (1 + 1 / days of its history) x (1 + trend x horizon / p99), the trend only if it is certain
 *
 * The first is the confidence multiplier of the Kubernetes vertical pod autoscaler
 * (recommender/logic/estimator.go), the second is trend.h. A guest never needs more than its RAM.
 *
 * Unknown values of a guest are filled in before: with its need at the same time of another week,
 * the nearest first, or else of another day, so that guests that are busy together stay so; with
 * its p99 only if there is no such value, and with all its RAM if nothing is known about the guest.
 */
#pragma once

#include "decide/plan/fleet.h"

struct plan_options {
    double risk;      /* the share of the time for which a host may be short: 0 .. 1 */
    double horizon_s; /* how far ahead trends are followed */
    bool bare;        /* without both factors, and without the check by slots: for the oracle */
    size_t max_moves;
    bool running_only; /* guests that have ended need nothing */
    size_t spare;      /* no host is emptied without which this many others could not fail */
};
#define PLAN_SPARE_MAX 2

/** Computes quantiles, days, right size and trend of all guests from their series, and the days of
 * their hosts; then fills the series in. Call once. Returns 0 or -ENOMEM. */
int plan_profile(struct plan_fleet *fleet);

/** Applies the factors to the series, and summarises the slots. Call once, after plan_profile(). */
void plan_prepare(struct plan_fleet *fleet, const struct plan_options *options);

/** Summarises a series of codes of @p unit bytes. */
void plan_fill_slots(const struct plan_fleet *fleet, const uint8_t *series, double unit,
                     struct plan_slot slots[PLAN_SLOTS]);

/** Returns the number of deviations above the mean that a normal distribution exceeds with
 * probability @p risk. */
double plan_z(double risk);

/** Returns the size that the guest should have been assigned: max((1 + margin) x quantile of the
 * WSS's upper bound, used) x (1 + 1 / days), at most four times its RAM; 0: not known. A WSS close
 * to the assigned RAM is a lower bound: then the size is at least the RAM. */
double plan_right_size(const struct plan_guest *guest, double margin);
