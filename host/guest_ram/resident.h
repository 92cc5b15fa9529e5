// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file resident.h  How much of guest RAM is resident now, without walking page tables again.
 *
 * smaps tells it exactly but walks every page table under the mmap lock, so it is read once, when
 * the RAM is located. Afterwards the change is followed: private memory by RssAnon, hugetlb by
 * HugetlbPages
 * (/proc/PID/status, Documentation/filesystems/proc.rst), shared memory by RssShmem.
 * The difference to smaps is what QEMU itself allocates in between.
 */
#pragma once

#include "guest_ram/guest_ram.h"

struct resident_meter {
    uint64_t anon_bytes, shmem_bytes, hugetlb_bytes; /* of guest RAM, when located */
    uint64_t status_anon_bytes, status_shmem_bytes, status_hugetlb_bytes; /* of QEMU, then */
    uint64_t ram_anon_bytes, ram_shmem_bytes, ram_hugetlb_bytes;          /* sizes: upper bounds */
};

/** To be called right after guest_ram_locate(). 0, or -ESRCH when the process is gone. */
int resident_meter_init(struct resident_meter *meter, const struct fsroot *root, pid_t pid,
                        const struct guest_ram *ram);

/** Resident bytes of guest RAM now; 0 when the process is gone. */
uint64_t resident_meter_read(const struct resident_meter *meter, const struct fsroot *root,
                             pid_t pid);
