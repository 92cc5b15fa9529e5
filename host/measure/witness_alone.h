// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file witness_alone.h  A witness for a method that does not work on pages (mglru): it draws its
 * own pages, and compares their touched share with the method's.
 *
 * Without pairs, the two differ by a sampling error, and only a larger difference counts: 5
 * percentage points with 800 pages, of which a tenth is touched. So it watches four times as many
 * pages.
 */
#pragma once

#include "guest/ram/target.h"
#include "measure/dispute.h"
#include "measure/page_set.h"
#include "measure/tally.h"

#define ALONE_TIMES 4

/** Draws @p draws pages, and finds how they are mapped. 0 or a negative errno; free with
 * page_set_free(). */
int witness_alone_draw(const struct target *target, uint64_t draws, uint64_t seed,
                       struct page_set *set);

/**
 * Converts @p count from the pages that vCPUs touched, all of them in missed, to the differences:
 * others and missed stay 0 if the method's figure, as a share of the memory that it can see, is
 * within chance and noise. If folios are neither base pages nor huge ones, the method counts in
 * other units than those of the faults; then it can only be found too low.
 */
bool witness_alone_judge(const struct tally *tally, struct witness_count *count);
