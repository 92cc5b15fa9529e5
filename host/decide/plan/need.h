// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file need.h  What a host's guests need together, of the steps of their joint series. Pure
 * functions. */
#pragma once

#include "decide/plan/fleet.h"
#include "decide/plan/trend.h"

/** With less history than PLAN_DAYS_ENOUGH the need is at least the mean and so many deviations:
 * N-sigma, Bashir et al., "Take it to the limit: peak prediction-driven resource overcommitment in
 * datacenters", EuroSys 2021. */
#define PLAN_SIGMAS_SHORT_HISTORY 5
/** A host is full at such a share of its limit. */
#define PLAN_FULL 0.85

struct plan_need {
    double p50_bytes, p95_bytes, p99_bytes, max_bytes;
    double risk_bytes;  /* exceeded for the share risk of the time; see above */
    double short_share; /* of the time, above the limit */
    double longest_s;   /* so at a stretch */
};

/** What guests needed together, step by step, and how much history of them is behind it: before
 * that their needs are filled in (prepare.h). */
struct plan_sum {
    const float *joint; /* n values of step_s seconds each */
    size_t n;
    int step_s;
    double days;
};

/** @p draft has room for sum->n values. */
void plan_need_of(const struct plan_sum *sum, double limit_bytes, double risk, float *draft,
                  struct plan_need *need);

/** Days until the daily p99 of a host is PLAN_FULL of its limit; HUGE_VAL: not with this trend. */
struct plan_runway {
    bool known;         /* at least TREND_DAYS_MIN days */
    double level_bytes; /* the largest p99 of the last seven days */
    double slope_bytes_day;
    double days, low_days, high_days; /* low: at the steepest slope of its 95 % interval */
};

/** Of the last days, as many (rounded) as there is history of. 0; -ENOMEM */
int plan_runway_of(const struct plan_sum *sum, double limit_bytes, float *draft,
                   struct plan_runway *runway);

/** The sum over the guests that are on the host, of their series: after plan_profile() as it was,
 * after plan_prepare() as it is planned with. */
void plan_joint(const struct plan_fleet *fleet, size_t host, float *joint);
