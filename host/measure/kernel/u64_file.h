// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file u64_file.h  Files that are arrays of 64-bit numbers: pagemap, kpageflags, the idle
 * bitmap. */
#pragma once

#include <stdint.h>

/** Reads @p n entries from @p first on; entries beyond the end of the file read as 0. 0 or a
 * negative errno. */
int u64_file_read(int fd, uint64_t first, uint64_t n, uint64_t *out);

/**
 * Reads entries index[0..n) of the array into out[0..n). One pread() fetches neighbouring entries
 * and small gaps between them, because a system call costs as much as some tens of entries. Any
 * order works; ascending order is fast. Entries beyond the end of the file read as 0.
 * @param bridge  number of unwanted entries that may be fetched to save a system call
 * @return 0 or a negative errno.
 */
int u64_file_gather(int fd, const uint64_t *index, uint64_t n, uint64_t bridge, uint64_t *out);
