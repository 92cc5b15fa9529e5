// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file levels.c  See levels.h. */
#include "decide/control/levels.h"

#include "base/bytes.h"

struct levels levels_of(const struct levels_policy *policy, uint64_t total_bytes,
                        uint64_t growth_bytes)
{
    uint64_t share = (uint64_t)((double)total_bytes * policy->high_share);
    double high = (double)smaller(larger(share, growth_bytes), total_bytes);

    return (struct levels){{
        [LEVEL_AMPLE] = (uint64_t)(high * policy->leave_factor),
        [LEVEL_HIGH] = (uint64_t)high,
        [LEVEL_SOFT] = (uint64_t)(high * policy->soft_share),
        [LEVEL_HARD] = (uint64_t)(high * policy->hard_share),
        [LEVEL_LOW] = (uint64_t)(high * policy->low_share),
    }};
}

enum control_level levels_next(const struct levels_policy *policy, const struct levels *levels,
                               enum control_level level, uint64_t free_bytes)
{
    for (unsigned lower = LEVEL_LOW; lower > LEVEL_AMPLE; lower--) {
        double threshold = (double)levels->threshold_bytes[lower];

        if ((double)free_bytes < (lower <= level ? policy->leave_factor : 1) * threshold)
            return (enum control_level)lower;
    }
    return LEVEL_AMPLE;
}

const char *levels_name(enum control_level level)
{
    static const char *const names[] = {"ample", "high", "soft", "hard", "low"};

    return names[level];
}
