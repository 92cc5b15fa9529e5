// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file idle_state.h  The state of method `idle` for one page set; for the files of the method
 * only. */
#pragma once

#include "guest/ram/target.h"
#include "measure/damon_taken.h"
#include "measure/kernel/swap_ins.h"
#include "measure/method/idle_frames.h"

struct unit_mapping {
    uint64_t hva; /* 0: no unit */
    bool huge;
};

struct idle {
    const struct target *target;
    struct page_set *set;
    uint64_t collapses; /* counter at the last marking or collection */
    uint64_t merged;    /* pages that KSM had merged at the last marking or collection */
    /* splits of huge page mappings on this host, at the last marking or collection */
    uint64_t splits;
    struct swap_devices devices; /* swap devices at the last marking or collection */
    struct unit_mapping last;    /* the unit that was queried last */
    struct damon_mark damon;     /* position at the last collection, or before marking */
    struct damon_mark reading;   /* position when the collection under way began */
    uint64_t damon_took;         /* pages that are unmeasurable because of that */
    struct frames frames;        /* frames of one batch */
    int bitmap_fd;
    bool stale;       /* no TLB flush followed when pages were last marked */
    bool merges;      /* KSM has merged more pages since */
    bool swapped;     /* some pages were swapped out at that time */
    bool swapoff;     /* swapped, and swapoff was at work since */
    bool splits_more; /* mappings were split since marking */
    bool damon_hides; /* DAMON took bits of unknown pages since marking */
};
