// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file actuators.h  What a guest is given or asked for in all, split among what can set it: its
 * virtio-mem device and its balloon. Pure functions.
 *
 * Theory of operation. virtio-mem comes first, both ways: what a guest unplugs is gone from the
 * guest's own view too, in blocks that stay whole for the host, where a balloon leaves holes of
 * 4 KiB. So on the way down the balloon gives what virtio-mem cannot, and on the way up it gets
 * back its own last. A guest that was taken from and given back therefore ends with the very
 * split that it began with.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** All zero: there is none. */
struct actuator {
    uint64_t least_bytes, most_bytes; /* what it can be set to */
    uint64_t block_bytes;             /* in steps of so much; 0: of any size */
    uint64_t current_bytes;           /* what the guest has by it now */
};

/** What each is to be set to, in the order of precedence, so that the guest has @p target_bytes in
 * all; a block that does not fit stays with the guest. Nothing is moved against the direction of
 * the whole. Returns the sum. */
uint64_t actuators_split(const struct actuator *actuators, size_t n, uint64_t target_bytes,
                         uint64_t *set_bytes);
