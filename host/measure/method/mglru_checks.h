// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file mglru_checks.h  What `mglru` needs of the host, of guest RAM and of the control group. */
#pragma once

#include "guest/ram/target.h"
#include "measure/kernel/memcg.h"

/** MGLRU on, walking page tables, and debugfs. 0, or a negative errno with the remedy. */
int mglru_host(const struct fsroot *root, struct error *why);

/** Are the block's pages on MGLRU's lists, among the anonymous and shared ones? */
bool mglru_lists(const struct ram_block *block);

/** -ENOTSUP where no block is, or one is in a file on a disk. */
int mglru_check_ram(const struct guest_ram *ram, struct error *why);

/** The guest's control group, which must be its own: not the root, in lru_gen, and without others
 * that have much in it. */
int mglru_find_group(const struct target *target, struct memcg *group, struct error *why);
