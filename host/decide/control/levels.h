// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file levels.h  How short of memory the host is: four thresholds of free memory, with hysteresis.
 * Pure functions.
 *
 * As in ESX (Waldspurger, OSDI 2002, section 6.3): a level is entered when free memory falls below
 * its threshold, and left when it is above 1.25 times that, so that the levels do not flutter. high
 * slides with the size of the host, as in ESX since version 5 (Mem.MinFreePct): 6 % of the first 4
 * GiB, 4 % of the next 8, 2 % of the next 16 and 1 % of the rest, since what a host needs in
 * reserve does not grow as its memory does; at least 256 MiB (of a host of less than 2 GiB, an
 * eighth), and at least the growth of all guests' resident memory within a minute that only one
 * minute in a thousand exceeds, up to a quarter of the host. soft, hard and low are 64, 32 and 16 %
 * of it (ESX: 64, 32, 16). The owner may set high and hard.
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
    uint64_t high_bytes;           /* set by the owner; 0: by the host's size */
    uint64_t hard_bytes;           /* as high_bytes; if set, soft is twice as much, and low half */
    uint64_t high_min_bytes;       /* 256 MiB */
    double soft_share, hard_share; /* share of high: 0.64, 0.32 */
    double low_share;              /* share of high: 0.16 */
    double leave_factor;           /* factor of a threshold: 1.25 */
};

/** Bytes of free memory; [LEVEL_AMPLE] is the amount above which the level high is left. */
struct levels {
    uint64_t threshold_bytes[N_LEVELS];
};

/** @param total_bytes   the host's memory without its pool of huge pages, of which no other page is
 * taken
 *  @param growth_bytes  p99.9 of the joint growth in 60 s; 0: not known */
struct levels levels_of(const struct levels_policy *policy, uint64_t total_bytes,
                        uint64_t growth_bytes);

/** The memory that guests share, which excludes pools of huge pages. */
struct levels_pool {
    uint64_t total_bytes, free_bytes;
};

/** Returns the levels of a control group's memory. They are crossed no later than those of the host
 * @p around it (all 0: it is the host): a large host may be short while it has more free than a
 * small group, of which that is plenty. */
struct levels levels_within(const struct levels_policy *policy, const struct levels_pool *group,
                            const struct levels_pool *around, uint64_t growth_bytes);

/** Returns the level at @p free_bytes, if the last level was @p level. */
enum control_level levels_next(const struct levels_policy *policy, const struct levels *levels,
                               enum control_level level, uint64_t free_bytes);

/** "ample", "high", "soft", "hard", "low". */
const char *levels_name(enum control_level level);
