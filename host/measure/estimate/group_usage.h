// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file group_usage.h  Converts page frames drawn from a control group to bytes. Pure
 * functions. */
#pragma once

#include "measure/group_frames.h"

struct group_usage {
    uint64_t bytes;              /* charged to the group when the window began */
    uint64_t touched;            /* touched within the window */
    uint64_t low, high;          /* 95 % bounds, including unmeasurable and gone memory */
    uint64_t unmeasurable, gone; /* estimated from the drawn frames */
};

/**
 * The usage of one kind of memory. Its bounds are Wilson intervals for the touched share and for
 * the possibly touched share; frames of one folio are one observation.
 * @param doubt  accessed bits may have been lost: the upper bound is then all of the memory
 */
struct group_usage group_usage_of(const struct frames_seen *seen, bool doubt);

/** Adds @p more, bound by bound, which is conservative. */
void group_usage_add(struct group_usage *sum, const struct group_usage *more);
