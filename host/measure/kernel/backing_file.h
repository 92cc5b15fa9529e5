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
 * read-only. Does not map the file. The caller closes the descriptor. */
int backing_file_open(const struct target *target, const struct ram_block *block,
                      struct error *error);

/** A read fault on RAM backed by a file maps the aligned range of this size around the page
 * (mm/memory.c, fault_around_bytes). */
#define FAULT_AROUND_BYTES 65536

/** Finds where a file has pages, for offsets in ascending order; one system call covers all pages
 * of a hole. Initialise it with zeros. */
struct file_walk {
    /* set it if nearly every page will be queried: one system call then also covers all pages up to
     * the next hole, for which the kernel searches page by page */
    bool whole;
    int fd;
    /* a hole in from .. next, then pages in next .. end; all 0: unknown */
    uint64_t from, next, end;
};

/** Returns true if the file holds a page at @p offset. Uses lseek(SEEK_DATA), which reads no data;
 * false if that fails. */
bool file_walk_holds(struct file_walk *walk, int fd, uint64_t offset);
