// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file swaps.h  Has the host any swap, and how much of it is free? */
#pragma once

#include "base/fsroot.h"

/** 1: some is active (/proc/swaps); 0: none is, or the kernel has no swap; or a negative errno. */
int swap_is_active(const struct fsroot *root);

struct swap_room {
    uint64_t free_bytes;
    uint64_t total_bytes; /* of the same swap: free or used */
};

/**
 * How much fits into the host's swap.
 * @param any  false: only into compressed memory (zram), which the kernel fills first where its
 * priority is the highest; of a zram that other swap comes before, or whose contents do not shrink
 * to less than three quarters, nothing counts. true: all that is free.
 * @return 0, or a negative errno
 */
int swap_room(const struct fsroot *root, bool any, struct swap_room *room);
