// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file swap_ins.h  Detects that the host brings pages back from swap without a touch.
 *
 * A page that was swapped out comes back when it is touched, or when its device is removed: swapoff
 * maps every page again (mm/swapfile.c, unuse_pte()), hot or cold. Page tables do not distinguish
 * the two.
 */
#pragma once

#include "base/fsroot.h"

#include <stdbool.h>

struct swap_devices {
    uint64_t listed_bytes; /* sum of the sizes in /proc/swaps */
    /* SwapTotal of /proc/meminfo, which excludes the part of a device that swapoff has emptied so
     * far */
    uint64_t total_bytes;
};

/** The state now; zeroes without swap. */
struct swap_devices swap_devices_read(const struct fsroot *root);

/** Returns true if swapoff was at work between the two readings. */
bool swap_devices_left(const struct swap_devices *before, const struct swap_devices *now);
