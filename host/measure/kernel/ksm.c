// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/ksm.h"

#include "measure/kernel/vmstat.h"

uint64_t ksm_merged_pages(const struct target *target)
{
    uint64_t pages = 0;

    if (fsroot_read_u64(target->root, &pages, "proc/%d/ksm_merging_pages", target->process->pid) <
            0 &&
        fsroot_read_u64(target->root, &pages, "sys/kernel/mm/ksm/pages_sharing") < 0)
        return 0;
    return pages;
}

uint64_t ksm_copied_pages(const struct target *target)
{
    return vmstat_read(target->root, "cow_ksm");
}
