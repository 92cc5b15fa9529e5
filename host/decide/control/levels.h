// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file levels.h  How short of memory the host is: four thresholds of free memory, with hysteresis.
 * Pure functions.
 *
 * As in ESX (Waldspurger, OSDI 2002, section 6.3): a level is entered when free memory falls below
 * its threshold, and left when it is above 1.25 times that, so that the levels do not flutter. high
 * is the larger of 4 % of the host's memory and the growth of all guests' resident memory within a
 * minute that only one minute in a thousand exceeds; soft, hard and low are 64, 32 and 16 % of it
 * (ESX: 6, 4, 2, 1 % of the host's memory).
 */
#pragma once

#include <stdint.h>

/** In order of increasing shortage of memory. */
enum control_level {
    LEVEL_AMPLE, /* free memory is above all thresholds */
    LEVEL_HIGH,
    LEVEL_SOFT,
    LEVEL_HARD,
    LEVEL_LOW,
};
#define N_LEVELS 5

struct levels_policy {
    double high_share;             /* share of the host's memory: 0.04 */
    double soft_share, hard_share; /* share of high: 0.64, 0.32 */
    double low_share;              /* share of high: 0.16 */
    double leave_factor;           /* factor of a threshold: 1.25 */
};

/** Bytes of free memory; [LEVEL_AMPLE] is the amount above which the level high is left. */
struct levels {
    uint64_t threshold_bytes[N_LEVELS];
};

/** @param growth_bytes  p99.9 of the joint growth in 60 s; 0: not known */
struct levels levels_of(const struct levels_policy *policy, uint64_t total_bytes,
                        uint64_t growth_bytes);

/** Returns the level at @p free_bytes, if the last level was @p level. */
enum control_level levels_next(const struct levels_policy *policy, const struct levels *levels,
                               enum control_level level, uint64_t free_bytes);

/** "ample", "high", "soft", "hard", "low". */
const char *levels_name(enum control_level level);
