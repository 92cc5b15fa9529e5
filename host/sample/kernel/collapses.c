// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file collapses.c  See collapses.h. */
#include "sample/kernel/collapses.h"

uint64_t collapses_read(const struct fsroot *root)
{
    uint64_t n = 0;

    return fsroot_read_u64(root, &n,
                           "sys/kernel/mm/transparent_hugepage/khugepaged/pages_collapsed") == 0
               ? n
               : 0;
}
