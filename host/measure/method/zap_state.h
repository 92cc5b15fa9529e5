// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file zap_state.h  The state of method `zap` for one page set; for the files of the method
 * only. */
#pragma once

#include "guest/ram/gpa.h"
#include "measure/kernel/fault_trace.h"
#include "measure/page_set.h"

struct zap {
    const struct target *target;
    struct page_set *set;
    struct gpa_layout layout;
    struct fault_trace *trace;
    int pagemap_fd;
    int wake_fd;
    bool *to_drop;      /* pages of a panel that the marking under way covers */
    bool *near;         /* a fault was seen in the same huge page since the last marking */
    uint64_t collapses; /* counter at the last reading of the page table */
    uint64_t lost;      /* lost fault records that are already accounted for */
    bool unseen; /* a vCPU ran whose faults were not recorded, since the touches began to add up */
    /* pages that look idle may be mapped again, by faults that were unseen or lost: no other fault
     * will come */
    bool mapped;
};
