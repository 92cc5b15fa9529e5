// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file meminfo.h  The memory of this host, from /proc/meminfo (Documentation/filesystems/proc.rst
 * of the kernel). */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

struct host_memory {
    /* MemTotal: excludes memory that firmware and the kernel's image keep */
    uint64_t total_bytes;
    uint64_t hugetlb_bytes;   /* Hugetlb: the part of it in hugetlb pools of all sizes */
    uint64_t available_bytes; /* MemAvailable: memory that programs could get without swapping */
    uint64_t swap_total_bytes, swap_free_bytes;
    uint64_t anon_huge_bytes; /* AnonHugePages: anonymous memory that is mapped by huge pages */
};

/** @return 0; -EINVAL if MemTotal is missing or one of these lines has no amount; or the error of
 *         reading the file */
int meminfo_read(const struct fsroot *root, struct host_memory *memory, struct error *error);
