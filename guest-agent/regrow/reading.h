// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file reading.h  The page cache, and the counters of its cost, at one moment. */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <jansson.h>
#include <stdint.h>

/** A member is KEYED_UNKNOWN if this kernel does not report it. The first seven are present values,
 * the others totals since boot. */
struct regrow_reading {
    uint64_t cached_bytes; /* page cache of files, including shared memory */
    uint64_t shmem_bytes;  /* the part of it in tmpfs and shared memory, which is never dropped */
    uint64_t buffers_bytes;
    uint64_t dirty_bytes;
    uint64_t writeback_bytes;
    uint64_t mapped_bytes; /* mapped by processes, including shared memory */
    uint64_t free_bytes;
    uint64_t disk_read_bytes;        /* all reads of block devices: files, direct I/O, swap */
    uint64_t disk_read_before_bytes; /* the same, just before the cache was read */
    uint64_t refault_pages;          /* refaults of file pages */
    uint64_t scanned_pages; /* pages scanned by reclaim, except at limits of control groups */
    uint64_t swap_in_pages;
    uint64_t io_wait_us; /* PSI some of io */
};

/**
 * Reads /proc/meminfo, /proc/vmstat (before and after meminfo, because a fast reader reads
 * megabytes in between) and, if PSI is on, /proc/pressure/io. pgpgin of vmstat is in KiB, and
 * counts a read once even if block devices are stacked (mm/vmstat.c, submit_bio()).
 * @return 0, or a negative errno with the message
 */
int regrow_read(const struct fsroot *root, struct regrow_reading *reading, struct error *error);

/** Page cache of files, without shared memory and without buffers. */
uint64_t regrow_cache_bytes(const struct regrow_reading *reading);

/** The state of the cache as a JSON object. NULL if out of memory. */
json_t *regrow_reading_json(const struct regrow_reading *reading);
