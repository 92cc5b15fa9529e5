// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file pageout_around.h  Method `pageout`, the pages around a panel's: a fault at one page maps
 * its whole aligned range (FAULT_AROUND_BYTES), and another process seldom unmaps one page alone.
 */
#pragma once

#include "measure/method/pageout_state.h"

/** Keeps one page of each aligned 64 KiB: the drawn page with the highest rank. The first page
 * would prefer pages at the begin of the 64 KiB and see a hot set with such a stride too large. */
void pageout_thin_out(struct page_set *set);

/** Returns true if the file of guest RAM has the page. */
bool pageout_in_file(struct ram_walk *walk, uint64_t page);

/** Maps the pages around the panel's pages, so that no fault at a neighbour maps one of the
 * panel's: a read of an unmapped page maps the aligned range. They stay mapped. Returns the number
 * of reads that this took, or a negative errno. */
int64_t pageout_map_around(const struct marking *marking);

/** Returns true if other processes unmap pages. A page that another process unmapped, and that the
 * guest's fault at a neighbour mapped again, reads touched; a page that was touched before it was
 * unmapped reads idle. Other processes unmap more than one page of an aligned range, and idle pages
 * among them are not mapped again: the neighbours show it. */
bool pageout_others_unmap(const struct pageout *pageout);
