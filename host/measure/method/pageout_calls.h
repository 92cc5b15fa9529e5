// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file pageout_calls.h  The number of MADV_PAGEOUT calls with which this kernel unmaps shared
 * memory. */
#pragma once

#include "base/error.h"

/**
 * The number of MADV_PAGEOUT calls that unmap a page that a KVM guest just touched: 1 since Linux
 * 6.9; 2 before, where the first call only takes the accessed bit (mm/vmscan.c, shrink_folio_list()
 * with ignore_references; "mm: madvise: pageout: ignore references rather than clearing young"). A
 * trial on this process's own pages proves that pages are unmapped at all. It cannot show the
 * number of calls: the old kernels clear the bit of the process's own page table first, so one call
 * is enough for our own pages and a TCG guest's, but not for a KVM guest's: 64.6 instead of 8.0 MiB
 * read touched on 6.1. So the kernel's version decides; if the change was ported back to an older
 * kernel, the second call does little harm. The answer is kept for the life of the process. Any
 * thread may call it.
 * @return 1, 2, or a negative errno with @p error set: it unmaps nothing, because there is swap
 */
int pageout_calls(struct error *error);
