// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file damon_regions.h  Method `damon`: which pages DAMON samples, one for each unit. */
#pragma once

#include "base/error.h"
#include "measure/method/damon_state.h"
#include "measure/page_probe.h"

/** DAMON asks KVM about one address of a huge page only (mm/damon/vaddr.c, damon_young_pmd_entry(),
 * damon_young_hugetlb_entry()): if KVM maps it in pieces, a touch anywhere else in it is missed.
 * KVM always maps the beginning of a PC's memory in base pages. */
bool damon_in_pieces(const struct damon *damon, uint64_t i);

/** Records a page as it was found first: for page_probe_each(), with a struct damon as
 * @p context. */
void damon_note_page(void *context, uint64_t i, const struct page_probe *probe);

/** Calls @p work for all pages of the unit of the i-th page, which is its first in the set. */
void damon_for_unit(struct damon *damon, uint64_t i,
                    void (*work)(struct damon *damon, uint64_t i, uint8_t value), uint8_t value);

/** Makes a region for every present unit, and has DAMON sample them. */
int damon_make_regions(struct damon *damon, struct error *error);

/** NULL if no region begins at @p hva. */
struct region *damon_find_region(const struct damon *damon, uint64_t hva);
