// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file damon_judge.h  Method `damon`: what DAMON's findings of a window, and the frames behind
 * its regions, say about each page. */
#pragma once

#include "base/error.h"
#include "measure/method/damon_state.h"

/** Reads the frames of all regions; pages that came or went get their states. */
int damon_read_frames(struct damon *damon, struct error *error);

/** Reads the flags of the folios behind the regions; before Linux 6.10 a tail has no flags of its
 * own. */
int damon_read_flags(struct damon *damon, struct error *error);

/** Returns true if the region's page has the idle flag, and if DAMON can sample it: it is on an LRU
 * list, or it is a hugetlb page, for which DAMON does not check that. */
bool damon_carries_mark(const struct damon *damon, uint64_t r);

/** Gives the pages of all regions their states at the end of a window. */
int damon_judge_regions(struct damon *damon, struct error *error);
