// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file reading.h  The page cache and what it costs, at one moment. */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <jansson.h>
#include <stdint.h>

/** KEYED_UNKNOWN where this kernel does not say. The first seven are as of now, the rest since
 * boot. */
struct regrow_reading {
    uint64_t cached_bytes; /* of files, shared memory included */
    uint64_t shmem_bytes;  /* of it tmpfs and shared memory, which is never dropped */
    uint64_t buffers_bytes;
    uint64_t dirty_bytes;
    uint64_t writeback_bytes;
    uint64_t mapped_bytes; /* by processes, shared memory included */
    uint64_t free_bytes;
    uint64_t disk_read_bytes; /* all that was asked of block devices: files, direct I/O, swap */
    uint64_t disk_read_before_bytes; /* the same, just before the cache was looked at */
    uint64_t refault_pages;          /* of files: wanted again after they were reclaimed */
    uint64_t scanned_pages; /* looked at by reclaim, but for that at a control group's limit */
    uint64_t swap_in_pages;
    uint64_t io_wait_us; /* PSI some of io */
};

/**
 * Reads /proc/meminfo, /proc/vmstat (before and after it: a fast reader brings megabytes between
 * the two) and, where PSI is on, /proc/pressure/io.
 * pgpgin of vmstat is in KiB, and counted once where one block device stands on another
 * (mm/vmstat.c, submit_bio()).
 * @return 0, or a negative errno with the message
 */
int regrow_read(const struct fsroot *root, struct regrow_reading *reading, struct error *error);

/** Page cache of files: without shared memory, and without the buffers, which are not in it. */
uint64_t regrow_cache_bytes(const struct regrow_reading *reading);

/** The state of the cache as a JSON object. NULL if out of memory. */
json_t *regrow_reading_json(const struct regrow_reading *reading);
