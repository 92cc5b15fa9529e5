// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file backing_file.h  The file behind a shared RAM block: memfd or tmpfs.
 *
 * Pages of such a block live in the page cache whether or not the process maps them, so the pagemap
 * alone cannot tell a page that was unmapped from one that never was.
 */
#pragma once

#include "base/error.h"
#include "guest/ram/target.h"

/** Opens the file through /proc/PID/map_files (needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN);
 * read-only, nothing is mapped. The caller closes. */
int backing_file_open(const struct target *target, const struct ram_block *block,
                      struct error *error);

/** A read fault on RAM that is a file's maps so much of it, whatever the page (mm/memory.c,
 * fault_around_bytes). */
#define FAULT_AROUND_BYTES 65536

/** Where a file has pages, asked in ascending order: of a hole one answer is that of all of its
 * pages. Zeroed: nothing is known yet. */
struct file_walk {
    bool whole; /* set it where nearly every page is asked for: one answer is then that of all pages
                   up to the next hole, which the kernel has to look for page by page */
    int fd;
    uint64_t from, next, end; /* a hole up to next, then pages up to end; all 0: unknown */
};

/** Does the file hold a page at @p offset? By lseek(SEEK_DATA), which reads nothing; false where
 * that fails. */
bool file_walk_holds(struct file_walk *walk, int fd, uint64_t offset);
