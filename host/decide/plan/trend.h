// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file trend.h  A slope that is robust against outliers and weekly patterns. Pure functions.
 *
 * The slope is the median of the slopes of all pairs of days that are whole weeks apart: Sen,
 * "Estimates of the regression coefficient based on Kendall's tau", JASA 63 (1968), in the seasonal
 * form of Hirsch, Slack, Smith, "Techniques of trend analysis for monthly water quality data",
 * Water Resources Research 18 (1982), a weekday being a season. Its 95 % interval is between the
 * pairs (N -+ 1.96 sqrt(V)) / 2 by rank, V the variance of Kendall's statistic, summed over the
 * seasons (Gilbert, Statistical Methods for Environmental Pollution Monitoring, 1987, 16.4 and
 * 17.3). Days are taken to be independent: if they are not, the interval is too narrow.
 */
#pragma once

#include <stddef.h>

/** The last TREND_DAYS_MAX days at most are used. */
#define TREND_DAYS_MAX 400
/** With fewer days there is no trend: two of each weekday are required. */
#define TREND_DAYS_MIN 14

struct trend {
    size_t pairs;            /* 0: too few days, and all fields below are unknown */
    double slope, low, high; /* a day; low .. high: 95 %, infinite if the pairs are too few */
};

/** @param day a value for each day, in order; NAN: no value */
struct trend trend_of(const double *day, size_t n);

/** Returns the days from now until @p level + slope x days reaches @p limit: 0 if it is there
 * already, HUGE_VAL if it never is. */
double trend_days_until(double level, double slope, double limit);
