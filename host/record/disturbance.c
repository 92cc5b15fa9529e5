// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file disturbance.c  See disturbance.h. */
#include "record/disturbance.h"

#include "sample/kernel/damon_sysfs.h"

#include <errno.h>
#include <string.h>

#define KDAMONDS "sys/kernel/mm/damon/admin/kdamonds"

bool disturbance_damon(const struct fsroot *root)
{
    char text[16];
    uint64_t n = 0;

    if (damon_module_on(root))
        return true;
    if (damon_sysfs_taken() || fsroot_read_u64(root, &n, KDAMONDS "/nr_kdamonds") < 0)
        return false;
    for (uint64_t i = 0; i < n; i++)
        if (fsroot_read(root, text, sizeof(text), KDAMONDS "/%u/state", (unsigned)i) > 0 &&
            !strcmp(text, "on"))
            return true;
    return false;
}

bool disturbance_merged(const struct fsroot *root, pid_t pid)
{
    uint64_t pages = 0;

    return fsroot_read_u64(root, &pages, "proc/%d/ksm_merging_pages", (int)pid) == 0 && pages > 0;
}

bool disturbance_swap(const struct fsroot *root)
{
    char text[8192];
    ssize_t n = fsroot_read(root, text, sizeof(text), "proc/swaps");

    /* A heading, and a line for each. */
    return n == -EFBIG || (n > 0 && strchr(text, '\n'));
}

bool disturbance_ksm(const struct fsroot *root)
{
    uint64_t run = 0;

    return fsroot_read_u64(root, &run, "sys/kernel/mm/ksm/run") == 0 && run == 1;
}
