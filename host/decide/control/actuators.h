// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file actuators.h  Splits a guest's total size among its actuators: its virtio-mem device and its
 * balloon. Pure functions.
 *
 * Theory of operation. virtio-mem comes first in both directions: memory that a guest unplugs is
 * gone from the guest's own view too, in blocks that stay whole for the host, whereas a balloon
 * leaves holes of 4 KiB. So on the way down the balloon takes what virtio-mem cannot, and on the
 * way up the balloon's own memory is given back last. A guest that was taken from and given back
 * therefore ends with exactly the split that it began with.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** All zero: there is no such actuator. */
struct actuator {
    uint64_t least_bytes, most_bytes; /* range that it can be set to */
    uint64_t block_bytes;             /* block size; 0: any size */
    uint64_t current_bytes;           /* the guest's current size from it */
};

/** Sets the size of each actuator, in the order of precedence, so that the guest has @p
 * target_bytes in total; a block that does not fit stays with the guest. No actuator moves against
 * the direction of the total. Returns the sum. */
uint64_t actuators_split(const struct actuator *actuators, size_t n, uint64_t target_bytes,
                         uint64_t *set_bytes);
