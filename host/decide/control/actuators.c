// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file actuators.c  See actuators.h. */
#include "decide/control/actuators.h"

#include "base/bytes.h"

static uint64_t whole_blocks(const struct actuator *actuator, uint64_t bytes)
{
    return actuator->block_bytes > 0 ? bytes - bytes % actuator->block_bytes : bytes;
}

static uint64_t whole_blocks_up(const struct actuator *actuator, uint64_t bytes)
{
    uint64_t down = whole_blocks(actuator, bytes);

    return down < bytes ? down + actuator->block_bytes : bytes;
}

static uint64_t shrink_by(const struct actuator *actuator, uint64_t bytes)
{
    return whole_blocks(actuator,
                        smaller(bytes, less(actuator->current_bytes, actuator->least_bytes)));
}

static uint64_t grow_by(const struct actuator *actuator, uint64_t bytes)
{
    uint64_t room = less(actuator->most_bytes, actuator->current_bytes);

    return smaller(whole_blocks_up(actuator, smaller(bytes, room)), whole_blocks(actuator, room));
}

uint64_t actuators_split(const struct actuator *actuators, size_t n, uint64_t target_bytes,
                         uint64_t *set_bytes)
{
    uint64_t total = 0;

    for (size_t i = 0; i < n; i++)
        total += actuators[i].current_bytes;

    uint64_t lower = less(total, target_bytes);
    uint64_t higher = less(target_bytes, total);

    for (size_t i = 0; i < n; i++) {
        uint64_t down = shrink_by(&actuators[i], lower);
        uint64_t up = grow_by(&actuators[i], higher);

        set_bytes[i] = actuators[i].current_bytes - down + up;
        lower -= down;
        higher = less(higher, up);
        total += up;
        total -= down;
    }
    return total;
}
