// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file witness_alone.h  A witness beside a method that works on no pages (mglru): it has pages of
 * its own, and its share of touches is held against the method's.
 *
 * Without pairs the two have a sampling error between them: what differs must be more than that,
 * 5 points of what is resident at 800 pages of which a tenth is touched. So it watches four times
 * as many.
 */
#pragma once

#include "guest/ram/target.h"
#include "measure/dispute.h"
#include "measure/page_set.h"
#include "measure/tally.h"

#define ALONE_TIMES 4

/** Draws so many pages, and looks how they are mapped. 0 or a negative errno; free with
 * page_set_free(). */
int witness_alone_draw(const struct target *target, uint64_t draws, uint64_t seed,
                       struct page_set *set);

/**
 * From what vCPUs were seen to touch, missed by all of those pages, to what differs: others and
 * missed stay 0 where the method's figure, as a share of what it can see, is within chance and
 * noise. Where folios are neither base pages nor huge ones the method counts in other units than
 * faults come in: there it can only be too low.
 */
bool witness_alone_judge(const struct tally *tally, struct witness_count *count);
