// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file damon_taken.h  Accounts for touches that DAMON may have hidden from a method that relies on
 * accessed bits.
 *
 * A page that reads idle and whose bits DAMON took (kernel/damon_hits.h) may have been touched
 * earlier, so it is unmeasurable. If these pages are not known, any number may have been touched.
 * Under TCG there are no events for them.
 */
#pragma once

#include "measure/kernel/damon_hits.h"
#include "measure/page_set.h"

#include "guest/ram/target.h"

/** Marks the pages of @p set that read idle and whose bits were taken since @p mark as
 * unmeasurable. Returns their number; -ENODATA if those pages are not known: then call
 * damon_doubt(). */
int64_t damon_taken_of_set(const struct target *target, const struct damon_mark *mark,
                           struct page_set *set);

/** Returns true if DAMON is known to have cleared bits, and set the idle flag, of a page at or
 * after @p hva since @p mark. */
bool damon_has_sampled(const struct target *target, const struct damon_mark *mark, uint64_t hva,
                       uint64_t bytes);

/** For a census that does not know single pages: adds the bytes that may also have been touched. */
void damon_taken_of_census(const struct target *target, const struct damon_mark *mark,
                           struct tally *tally);

/** Notes in @p tally that any number of pages may have been touched. measure/record/flag_memory.h
 * sets the bounds, because it knows the witness, and whether DAMON watches this guest. */
void damon_doubt(struct tally *tally);
