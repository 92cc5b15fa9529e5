// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file meminfo.h  The guest's memory as its kernel counts it: Documentation/filesystems/proc.rst,
 * "meminfo". */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <jansson.h>
#include <stdint.h>

/** KEYED_UNKNOWN where this kernel does not say. */
struct meminfo {
    uint64_t total_bytes;
    uint64_t free_bytes;
    uint64_t available_bytes; /* what could be had without swapping, by the kernel's own estimate */
    uint64_t anon_bytes;
    uint64_t cache_bytes; /* files and tmpfs, without buffers */
    uint64_t
        buffers_bytes; /* of block devices: a file system's own blocks, or what reads the device */
    uint64_t shmem_bytes; /* of the cache, what no file on a disk stands behind */
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
    uint64_t
        hugetlb_bytes; /* huge pages set aside, used or not: in no other number but the total */
    uint64_t hugetlb_free_bytes; /* of these, of the default size, what is not used */
    uint64_t swap_total_bytes;
    uint64_t swap_free_bytes;
};

/** Reads /proc/meminfo. 0 or a negative errno with the message. */
int meminfo_read(const struct fsroot *root, struct meminfo *meminfo, struct error *error);

/** The "memory" of a report, as wire.h has it; what is unknown is left out. NULL when out of
 * memory. */
json_t *meminfo_json(const struct meminfo *meminfo);
