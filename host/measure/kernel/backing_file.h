// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file backing_file.h  The file behind a shared RAM block: memfd or tmpfs.
 *
 * Pages of such a block live in the page cache whether or not the process maps them, so the pagemap
 * alone cannot distinguish a page that was unmapped from one that was never mapped.
 */
#pragma once

#include "base/error.h"
#include "guest/ram/target.h"

/** Opens the file through /proc/PID/map_files (needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN);
 * read-only, nothing is mapped. The caller closes. */
int backing_file_open(const struct target *target, const struct ram_block *block,
                      struct error *error);

/** A read fault on RAM that is backed by a file maps a range of this size, whichever page faulted
 * (mm/memory.c, fault_around_bytes). */
#define FAULT_AROUND_BYTES 65536

/** Answers where a file has pages, for offsets in ascending order; one answer covers all pages of a
 * hole. A zeroed struct knows nothing yet. */
struct file_walk {
    /* set it if nearly every page will be queried: one answer then covers all pages up to the next
     * hole, which the kernel has to search page by page */
    bool whole;
    int fd;
    uint64_t from, next, end; /* a hole up to next, then pages up to end; all 0: unknown */
};

/** Returns true if the file holds a page at @p offset. Uses lseek(SEEK_DATA), which reads nothing;
 * false if that fails. */
bool file_walk_holds(struct file_walk *walk, int fd, uint64_t offset);
