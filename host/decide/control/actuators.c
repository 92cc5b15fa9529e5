// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/control/actuators.h"

#include "base/bytes.h"

#define DECLARE(upper, lower) extern const struct actuator_operations actuator_##lower;
ACTUATORS(DECLARE)

#define ENTRY(upper, lower) [ACTUATOR_##upper] = &actuator_##lower,
const struct actuator_operations *const actuators[N_ACTUATORS] = {ACTUATORS(ENTRY)};

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

uint64_t actuators_split(const struct actuator *limits, size_t n, uint64_t target_bytes,
                         uint64_t *set_bytes)
{
    uint64_t total = 0;

    for (size_t i = 0; i < n; i++)
        total += limits[i].current_bytes;

    uint64_t lower = less(total, target_bytes);
    uint64_t higher = less(target_bytes, total);

    for (size_t i = 0; i < n; i++) {
        uint64_t down = shrink_by(&limits[i], lower);
        uint64_t up = grow_by(&limits[i], higher);

        set_bytes[i] = limits[i].current_bytes - down + up;
        lower -= down;
        higher = less(higher, up);
        total += up;
        total -= down;
    }
    return total;
}
