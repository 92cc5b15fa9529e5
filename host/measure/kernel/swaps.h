// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file swaps.h  Finds whether the host has swap, and how much of it is free. */
#pragma once

#include "base/fsroot.h"

/** Returns 1 if a swap device is active (/proc/swaps); 0 if none is, or the kernel has no swap; or
 * a negative errno. */
int swap_is_active(const struct fsroot *root);

struct swap_room {
    uint64_t free_bytes;
    uint64_t total_bytes; /* size of that swap, free or used */
};

/**
 * Finds how much fits into the host's swap.
 * @param any false: counts only zram that the kernel fills first because of its priority. A zram is
 * ignored if other swap has a higher priority, or if its contents are not compressed to less than
 * three quarters. true: counts all free swap.
 * @return 0, or a negative errno
 */
int swap_room(const struct fsroot *root, bool any, struct swap_room *room);
