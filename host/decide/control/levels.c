// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/control/levels.h"

#include "base/array.h"
#include "base/bytes.h"

#include <math.h>
#include <stddef.h>

#define GIB ((double)(1ULL << 30))
/* At most this share of a small host, ... */
#define MIN_SHARE 8
/* ... and of any host, for growth of all guests together: more would be idle most of the time. */
#define GROWTH_SHARE 4

static double sliding(double total)
{
    static const struct {
        double size, share;
    } parts[] = {{4 * GIB, 0.06}, {8 * GIB, 0.04}, {16 * GIB, 0.02}, {HUGE_VAL, 0.01}};
    double high = 0;

    for (size_t i = 0; i < COUNT(parts) && total > 0; i++) {
        high += fmin(total, parts[i].size) * parts[i].share;
        total -= parts[i].size;
    }
    return high;
}

static uint64_t high_of(const struct levels_policy *policy, uint64_t total_bytes,
                        uint64_t growth_bytes)
{
    uint64_t least = smaller(policy->high_min_bytes, total_bytes / MIN_SHARE);

    if (policy->high_bytes > 0)
        return smaller(policy->high_bytes, total_bytes);
    return smaller(larger(larger((uint64_t)sliding((double)total_bytes), least),
                          smaller(growth_bytes, total_bytes / GROWTH_SHARE)),
                   total_bytes);
}

struct levels levels_of(const struct levels_policy *policy, uint64_t total_bytes,
                        uint64_t growth_bytes)
{
    double high = (double)high_of(policy, total_bytes, growth_bytes);
    double hard = fmin(
        policy->hard_bytes > 0 ? (double)policy->hard_bytes : high * policy->hard_share, high);
    double scale = hard / policy->hard_share;

    return (struct levels){{
        [LEVEL_AMPLE] = (uint64_t)(high * policy->leave_factor),
        [LEVEL_HIGH] = (uint64_t)high,
        [LEVEL_SOFT] = (uint64_t)fmin(scale * policy->soft_share, high),
        [LEVEL_HARD] = (uint64_t)hard,
        [LEVEL_LOW] = (uint64_t)(scale * policy->low_share),
    }};
}

struct levels levels_within(const struct levels_policy *policy, const struct levels_pool *group,
                            const struct levels_pool *around, uint64_t growth_bytes)
{
    struct levels levels = levels_of(policy, group->total_bytes, growth_bytes);
    const struct levels outer = levels_of(policy, around->total_bytes, growth_bytes);

    for (unsigned i = 0; i < N_LEVELS && around->total_bytes > 0; i++)
        levels.threshold_bytes[i] = larger(
            levels.threshold_bytes[i],
            less(outer.threshold_bytes[i] + group->free_bytes, around->free_bytes));
    return levels;
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
