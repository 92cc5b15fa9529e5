// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file collapses.h  Whether huge pages were made of small ones meanwhile, by khugepaged or for
 * MADV_COLLAPSE.
 *
 * A collapse fills the holes of 2 MiB of guest RAM with pages that were not touched (up to 511 of
 * 512, max_ptes_none), and gives the rest other frames. A huge page that a fault made and one that
 * khugepaged made look alike, so where the counter has moved a page that appeared in a huge page
 * may not be called touched. The counter is the whole host's, and moves before the page is mapped.
 * khugepaged's own, pages_collapsed, moves after that, and not for MADV_COLLAPSE.
 *
 * Source: Documentation/admin-guide/mm/transhuge.rst, thp_collapse_alloc; mm/khugepaged.c,
 * alloc_charge_folio().
 */
#pragma once

#include "base/fsroot.h"

/** Huge pages allocated for that since boot; 0 where the kernel has none. */
uint64_t collapses_read(const struct fsroot *root);
