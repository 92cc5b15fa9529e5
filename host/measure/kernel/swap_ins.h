// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file swap_ins.h  Does the host bring pages back from swap without a touch?
 *
 * A page that was swapped out comes back when it is touched, or when its device is taken away:
 * swapoff maps every page again (mm/swapfile.c, unuse_pte()), hot or cold, and no page table tells
 * the one from the other.
 */
#pragma once

#include "base/fsroot.h"

#include <stdbool.h>

struct swap_devices {
    uint64_t listed_bytes; /* of /proc/swaps */
    uint64_t total_bytes;  /* SwapTotal of /proc/meminfo: without what swapoff has emptied so far of
                              a listed one */
};

/** As of now; zeroes where there is none. */
struct swap_devices swap_devices_read(const struct fsroot *root);

/** Was swapoff at work between these two? */
bool swap_devices_left(const struct swap_devices *before, const struct swap_devices *now);
