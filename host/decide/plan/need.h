// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file need.h  The joint need of a host's guests, from the steps of their summed series. Pure
 * functions. */
#pragma once

#include "decide/plan/fleet.h"
#include "decide/plan/trend.h"

/** With less history than PLAN_DAYS_ENOUGH the need is at least the mean plus this many deviations:
 * N-sigma, Bashir et al., "Take it to the limit: peak prediction-driven resource overcommitment in
 * datacenters", EuroSys 2021. */
#define PLAN_SIGMAS_SHORT_HISTORY 5
/** A host counts as full at this share of its limit. */
#define PLAN_FULL 0.85

struct plan_need {
    double p50_bytes, p95_bytes, p99_bytes, max_bytes;
    double risk_bytes;  /* need that is exceeded for the share risk of the time; see above */
    double short_share; /* share of the time above the limit */
    double longest_s;   /* longest time above the limit at a stretch */
};

/** Joint need of guests, step by step, and how many days of history support it: earlier steps are
 * filled in (prepare.h). */
struct plan_sum {
    const float *joint; /* n values of step_s seconds each */
    size_t n;
    int step_s;
    double days;
};

/** @p draft has room for sum->n values. */
void plan_need_of(const struct plan_sum *sum, double limit_bytes, double risk, float *draft,
                  struct plan_need *need);

/** Days until the daily p99 of a host reaches PLAN_FULL of its limit; HUGE_VAL: never with this
 * trend. */
struct plan_runway {
    bool known;         /* true with at least TREND_DAYS_MIN days */
    double level_bytes; /* the largest p99 of the last seven days */
    double slope_bytes_day;
    double days, low_days, high_days; /* low_days: at the steepest slope of its 95 % interval */
};

/** Uses the last days, as many (rounded) as have history. Returns 0 or -ENOMEM. */
int plan_runway_of(const struct plan_sum *sum, double limit_bytes, float *draft,
                   struct plan_runway *runway);

/** Sums the series of the guests on the host, and of those that have ended. After plan_profile()
 * these are as they were read, after plan_prepare() as planning uses them. */
void plan_joint(const struct plan_fleet *fleet, size_t host, float *joint);
