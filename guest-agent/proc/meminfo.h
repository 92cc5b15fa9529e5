// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file meminfo.h  The guest's memory as its kernel counts it: Documentation/filesystems/proc.rst,
 * "meminfo". */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <jansson.h>
#include <stdint.h>

/** A member is KEYED_UNKNOWN if this kernel does not report it. */
struct meminfo {
    uint64_t total_bytes;
    uint64_t free_bytes;
    uint64_t available_bytes; /* memory available without swapping, as estimated by the kernel */
    uint64_t anon_bytes;
    uint64_t cache_bytes; /* page cache of files and tmpfs, without buffers */
    uint64_t
        /* page cache of block devices: file system metadata, or direct reads of the device */
        buffers_bytes;
    uint64_t shmem_bytes; /* the part of cache_bytes that is in no file on a disk */
    uint64_t active_anon_bytes;
    uint64_t inactive_anon_bytes;
    uint64_t active_file_bytes;
    uint64_t inactive_file_bytes;
    uint64_t unevictable_bytes;
    uint64_t dirty_bytes;
    uint64_t writeback_bytes;
    uint64_t slab_reclaimable_bytes;
    uint64_t slab_unreclaimable_bytes;
    uint64_t page_tables_bytes;
    uint64_t kernel_stack_bytes;
    uint64_t hugetlb_bytes;      /* pools of huge pages, used or not; included only in the total */
    uint64_t hugetlb_free_bytes; /* the unused part of the default-size pool */
    uint64_t swap_total_bytes;
    uint64_t swap_free_bytes;
};

/** Reads /proc/meminfo. 0 or a negative errno with the message. */
int meminfo_read(const struct fsroot *root, struct meminfo *meminfo, struct error *error);

/** Returns the "memory" of a report (wire.h), without unknown values. NULL if out of memory. */
json_t *meminfo_json(const struct meminfo *meminfo);
