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
/** MADV_PAGEOUT: unmaps and reclaims pages. It reports success even if some pages cannot be
 * reclaimed and stay. */
#define ADVISE_PAGEOUT 21

/**
 * Returns true if advice for all of the block would split huge pages. The kernel splits a folio if
 * the advised range covers only a part of it. If shmem makes huge pages, and a shared block is
 * aligned differently in memory and in its file, its folios cross the ends of page tables
 * (mm/madvise.c, madvise_cold_or_pageout_pte_range()).
 */
bool advice_splits(const struct fsroot *root, const struct ram_block *block);

/** Checks that this process may advise another process. Advice on a process's own memory does not
 * prove that, because it needs no capability since Linux 6.13; other processes need CAP_SYS_NICE
 * (mm/madvise.c, process_madvise()). 0, or -EPERM with the message. */
int advise_permitted(struct error *why);

/** Advises the ranges range[0..n) of the process's memory. 0 or a negative errno (-EINVAL: the
 * memory is locked or huge; -EPERM; -ESRCH). */
int process_advise(int pidfd, int advice, const struct iovec *range, uint64_t n);
