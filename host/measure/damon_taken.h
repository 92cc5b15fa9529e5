// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file damon_taken.h  What DAMON may have hidden from a method that waits for accessed bits.
 *
 * A page whose bits DAMON took (kernel/damon_hits.h) and that reads idle may have been touched
 * before: it is unmeasurable. Where these pages are not known, any number may have been touched.
 * Under TCG no event tells them.
 */
#pragma once

#include "measure/kernel/damon_hits.h"
#include "measure/page_set.h"

#include "guest/ram/target.h"

/** The pages of @p set that read idle and whose bits were taken since @p mark become unmeasurable.
 * 0; -ENODATA where these are not known: then damon_doubt(). */
int damon_taken_of_set(const struct target *target, const struct damon_mark *mark,
                       struct page_set *set);

/** Of a census that does not know single pages: so many bytes more may have been touched. */
void damon_taken_of_census(const struct target *target, const struct damon_mark *mark,
                           struct tally *tally);

/** Notes in @p tally that any number may have been touched. The bounds are for
 * measure/record/flag_memory.h, which knows whether DAMON watches this guest, and the witness. */
void damon_doubt(struct tally *tally);
