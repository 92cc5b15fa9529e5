// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file group_usage.h  From frames that were drawn of a control group to bytes. Pure functions. */
#pragma once

#include "sample/group_frames.h"

struct group_usage {
    uint64_t bytes;              /* charged to the group when the window began */
    uint64_t touched;            /* within the window */
    uint64_t low, high;          /* 95 % bounds, with what was unmeasurable or is gone */
    uint64_t unmeasurable, gone; /* by the share of the frames drawn */
};

/**
 * Of one kind of memory: Wilson's intervals of the share that was touched, and of that which may
 * have been; frames of one folio are one observation.
 * @param doubt  accessed bits may have been lost: the upper bound is then all there is
 */
struct group_usage group_usage_of(const struct frames_seen *seen, bool doubt);

/** Adds @p more, bound to bound: no less certain than the parts. */
void group_usage_add(struct group_usage *sum, const struct group_usage *more);
