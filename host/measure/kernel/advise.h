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
/** MADV_PAGEOUT: unmaps and reclaims. What cannot be reclaimed stays, and success is reported. */
#define ADVISE_PAGEOUT 21

/**
 * Would advice for all of the block split huge pages? The kernel splits a folio of which it sees a
 * part only. A block of shared memory that is not aligned in memory as in its file has folios
 * across the ends of page tables (mm/madvise.c, madvise_cold_or_pageout_pte_range()), where shmem
 * makes huge pages at all.
 */
bool advice_splits(const struct fsroot *root, const struct ram_block *block);

/** May this process advise another? mm/madvise.c, process_madvise(): CAP_SYS_NICE; its own memory
 * needs none since
 *  Linux 6.13, and proves nothing. 0, or -EPERM with the message. */
int advise_permitted(struct error *why);

/** Advises the ranges range[0..n) of the process's memory. 0 or a negative errno (-EINVAL: the
 * memory is locked or huge; -EPERM; -ESRCH). */
int process_advise(int pidfd, int advice, const struct iovec *range, uint64_t n);
