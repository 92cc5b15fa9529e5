// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file mglru_checks.h  The requirements of `mglru` on the host, guest RAM and the control
 * group. */
#pragma once

#include "guest/ram/target.h"
#include "measure/kernel/memcg.h"

/** Checks that MGLRU is on and walks page tables, and that debugfs is available. 0, or a negative
 * errno with the remedy. */
int mglru_host(const struct fsroot *root, struct error *why);

/** Returns true if the block's pages are on MGLRU's lists, among the anonymous and shared ones. */
bool mglru_lists(const struct ram_block *block);

/** -ENOTSUP if no block is, or if one is in a file on a disk. */
int mglru_check_ram(const struct guest_ram *ram, struct error *why);

/** Finds the guest's control group. It must be the guest's own: not the root, listed in lru_gen,
 * and without other processes that have much memory in it. */
int mglru_find_group(const struct target *target, struct memcg *group, struct error *why);
