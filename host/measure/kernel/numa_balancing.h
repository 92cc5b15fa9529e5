// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file numa_balancing.h  Automatic NUMA balancing: the kernel takes away mappings to see who
 * touches a page (Documentation/admin-guide/sysctl/kernel.rst).
 */
#pragma once

#include "base/fsroot.h"

/** Is it on, and is there more than one node? */
bool numa_balancing_on(const struct fsroot *root);

/** Mappings taken away since boot, of all processes (numa_pte_updates, change_prot_numa()). */
uint64_t numa_balancing_unmapped(const struct fsroot *root);
