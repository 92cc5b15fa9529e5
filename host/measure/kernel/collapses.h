// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file collapses.h Detects collapses of small pages into huge pages by khugepaged or
 * MADV_COLLAPSE.
 *
 * A collapse fills the holes of 2 MiB of guest RAM with pages that were not touched (up to 511 of
 * 512, max_ptes_none), and moves the other pages to new frames. A huge page made by a fault and one
 * made by khugepaged look alike. So if the counter has moved, a page that appeared in a huge page
 * must not count as touched. The counter covers the whole host, and is incremented before the huge
 * page is mapped. khugepaged's own counter, pages_collapsed, is incremented after that, and not for
 * MADV_COLLAPSE.
 *
 * Source: Documentation/admin-guide/mm/transhuge.rst, thp_collapse_alloc; mm/khugepaged.c,
 * alloc_charge_folio().
 */
#pragma once

#include "base/fsroot.h"

/** Huge pages allocated for collapses since boot; 0 if the kernel has no such counter. */
uint64_t collapses_read(const struct fsroot *root);
