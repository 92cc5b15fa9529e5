// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/collapses.h"

#include "measure/kernel/vmstat.h"

uint64_t collapses_read(const struct fsroot *root)
{
    return vmstat_read(root, "thp_collapse_alloc");
}
