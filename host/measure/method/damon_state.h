// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file damon_state.h  The state of method `damon` for one page set; for the files of the method
 * only. */
#pragma once

#include "guest/ram/gpa.h"
#include "guest/ram/target.h"
#include "measure/kernel/damon_sysfs.h"
#include "measure/kernel/damon_trace.h"
#include "measure/kernel/swap_ins.h"
#include "measure/page_set.h"

/* 64 MiB of sysfs and 8 MiB of ring, far more than a panel needs. */
#define MAX_REGIONS 65536

/* One page that DAMON samples; it stands for its unit. */
struct region {
    uint64_t hva;
    uint64_t at;   /* its page in the set */
    uint64_t pfn;  /* frame of its page when it was marked */
    bool marked;   /* the last marking succeeded */
    bool told;     /* DAMON sampled the page since, and ... */
    bool accessed; /* ... saw an access */
};

struct damon {
    const struct target *target;
    struct page_set *set;
    int pagemap_fd;
    int flags_fd;
    struct damon_slot *slot;
    struct damon_trace *trace; /* trace of the kdamond; NULL while it is off */
    int wake_fd;
    bool carried;                /* accessed bits outlive their mapping */
    bool stale_now;              /* no flush followed when it last cleared the accessed bits */
    bool stale;                  /* ... or at some time since the touches began to add up */
    uint64_t lost;               /* records lost in this window */
    uint64_t cpu_ns;             /* CPU time of the kdamonds that ended */
    uint64_t collapses;          /* counter at the last marking or reading of the frames */
    bool collapsed;              /* khugepaged was at work before this window */
    struct swap_devices devices; /* swap devices at the last marking or reading of the frames */
    bool swapoff;                /* swapoff was at work */
    uint64_t n_regions;
    struct region *regions; /* ascending by hva */
    uint64_t *pfn;          /* frame of each region's page; 0: absent */
    uint64_t *flags;        /* flags of its folio */
    struct gpa_layout layout;
    bool has_layout;
    bool *watched; /* for every page of the set: whether a region stands for it */
};
