// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file numa_balancing.h  Automatic NUMA balancing: the kernel removes mappings to find the node
 * that touches a page (Documentation/admin-guide/sysctl/kernel.rst).
 */
#pragma once

#include "base/fsroot.h"

/** Returns true if it is on and the host has more than one node. */
bool numa_balancing_on(const struct fsroot *root);

/** Mappings removed since boot, of all processes (numa_pte_updates, change_prot_numa()). */
uint64_t numa_balancing_unmapped(const struct fsroot *root);
