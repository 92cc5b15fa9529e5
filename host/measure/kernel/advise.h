// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file advise.h  process_madvise(2): advice about another process's memory (Linux 5.10,
 * CAP_SYS_NICE).
 */
#pragma once

#include "guest/ram/target.h"

#include <stdint.h>
#include <sys/uio.h>

/** MADV_COLD: clears accessed bits, flushes the TLB, and moves the pages to the inactive list. */
#define ADVISE_COLD 20
/** MADV_PAGEOUT: unmaps and reclaims. Pages that cannot be reclaimed stay, and success is reported
 * all the same. */
#define ADVISE_PAGEOUT 21

/**
 * Returns true if advice for all of the block would split huge pages. The kernel splits a folio if
 * the advised range covers only a part of it. A shared block that is aligned differently in memory
 * and in its file has folios that cross the ends of page tables (mm/madvise.c,
 * madvise_cold_or_pageout_pte_range()), provided that shmem makes huge pages at all.
 */
bool advice_splits(const struct fsroot *root, const struct ram_block *block);

/** Checks that this process may advise another one. mm/madvise.c, process_madvise(): CAP_SYS_NICE;
 * advice to its own memory needs no capability since Linux 6.13, so it proves nothing. 0, or -EPERM
 * with the message. */
int advise_permitted(struct error *why);

/** Advises the ranges range[0..n) of the process's memory. 0 or a negative errno (-EINVAL: the
 * memory is locked or huge; -EPERM; -ESRCH). */
int process_advise(int pidfd, int advice, const struct iovec *range, uint64_t n);
