// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/numa_balancing.h"

#include "base/host_file.h"
#include "measure/kernel/vmstat.h"

bool numa_balancing_on(const struct fsroot *root)
{
    static struct host_file balancing = {.path = "proc/sys/kernel/numa_balancing"};
    uint64_t mode = 0;

    return host_file_read_u64(&balancing, root, &mode) == 0 && mode > 0 &&
           fsroot_exists(root, "sys/devices/system/node/node1");
}

uint64_t numa_balancing_unmapped(const struct fsroot *root)
{
    return vmstat_read(root, "numa_pte_updates");
}
