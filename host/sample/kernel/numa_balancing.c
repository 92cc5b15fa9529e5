// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file numa_balancing.c  See numa_balancing.h. */
#include "sample/kernel/numa_balancing.h"

#include "sample/kernel/vmstat.h"

bool numa_balancing_on(const struct fsroot *root)
{
    uint64_t mode = 0;

    return fsroot_read_u64(root, &mode, "proc/sys/kernel/numa_balancing") == 0 && mode > 0 &&
           fsroot_exists(root, "sys/devices/system/node/node1");
}

uint64_t numa_balancing_unmapped(const struct fsroot *root)
{
    return vmstat_read(root, "numa_pte_updates");
}
