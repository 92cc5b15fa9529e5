// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file pageout_calls.h  How this kernel unmaps shared memory when MADV_PAGEOUT advises it. */
#pragma once

#include "base/error.h"

/**
 * How many calls of MADV_PAGEOUT unmap a page that a KVM guest just touched: 1 since Linux 6.9; 2
 * before, where the first call only takes the accessed bit (mm/vmscan.c, shrink_folio_list() with
 * ignore_references; "mm: madvise: pageout: ignore references rather than clearing young"). That
 * pages are unmapped at all is proven on pages of our own. How many calls it takes is not: the old
 * kernels clear the bit of the process's own page table first, so of our own pages one call is
 * enough there, and of a TCG guest's, but not of a KVM guest's: 64.6 of 8.0 MiB read touched
 * on 6.1. The kernel's version decides; where the change was ported back to an older one the second
 * call does little harm. Once known the answer is kept for the life of the process. May be called
 * by any thread.
 * @return 1, 2, or a negative errno with @p error set: it unmaps nothing, for there is swap
 */
int pageout_calls(struct error *error);
