// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/record/disturbance.h"

#include "base/host_file.h"
#include "measure/kernel/damon_others.h"
#include "measure/kernel/swaps.h"

bool disturbance_damon(const struct fsroot *root)
{
    return damon_others_on(root) > 0;
}

/* If the host has no merged page, the process has none either (mm/ksm.c counts a shared page before
 * its users). Pages of zeros that KSM dropped have a separate counter. */
static bool any_merged(const struct fsroot *root)
{
    static struct host_file shared = {.path = "sys/kernel/mm/ksm/pages_shared"};
    uint64_t pages = 0;

    return host_file_read_u64(&shared, root, &pages) < 0 || pages > 0;
}

bool disturbance_merged(const struct fsroot *root, pid_t pid)
{
    uint64_t pages = 0;

    return any_merged(root) &&
           fsroot_read_u64(root, &pages, "proc/%d/ksm_merging_pages", (int)pid) == 0 && pages > 0;
}

bool disturbance_swap(const struct fsroot *root)
{
    return swap_is_active(root) == 1;
}

bool disturbance_ksm(const struct fsroot *root)
{
    static struct host_file ksm = {.path = "sys/kernel/mm/ksm/run"};
    uint64_t run = 0;

    return host_file_read_u64(&ksm, root, &run) == 0 && run == 1;
}

bool disturbance_ksm_drops_zeros(const struct fsroot *root)
{
    static struct host_file use = {.path = "sys/kernel/mm/ksm/use_zero_pages"};
    static struct host_file dropped = {.path = "sys/kernel/mm/ksm/ksm_zero_pages"};
    uint64_t n = 0;

    return (host_file_read_u64(&use, root, &n) == 0 && n > 0) ||
           (host_file_read_u64(&dropped, root, &n) == 0 && n > 0);
}

bool disturbance_merges(const struct fsroot *root, pid_t pid, const struct guest_ram *ram)
{
    const bool runs = disturbance_ksm(root);
    const bool merged = disturbance_merged(root, pid);

    for (size_t b = 0; b < ram->n_blocks; b++)
        if (!ram->blocks[b].shared && (merged || (runs && ram->blocks[b].mergeable)))
            return true;
    return false;
}
