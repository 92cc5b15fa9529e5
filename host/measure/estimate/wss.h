// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file wss.h  Estimates a working set size with its bounds from a tally. Pure functions.
 */
#pragma once

#include "measure/tally.h"

/** The memory from which a panel's pages are drawn. */
struct wss_memory {
    /* guest RAM, from which all draws come; 0: not known, and population_bytes is not checked */
    uint64_t ram_bytes;
    /* resident part now. A census reports its own count if that is larger than this, and else this
     * (file pages that are not mapped are resident). A panel, too, reports no less than it
     * found. */
    uint64_t resident_bytes;
    /* the memory from which the present draws are a sample: mapped memory, or resident memory for a
     * method that also sees unmapped pages. Unmeasurable memory is a share of it. */
    uint64_t population_bytes;
    /* the possible error of population_bytes; a panel's bounds include it */
    uint64_t population_error_bytes;
};

struct wss_estimate {
    uint64_t resident_bytes;
    uint64_t unmeasurable_bytes;
    uint64_t wss_bytes;
    /* Touched bytes and their 95 % interval; a census has no sampling error. */
    uint64_t wss_low_bytes;  /* each touched unit counts as one base page only (least.h) */
    uint64_t wss_high_bytes; /* each touched unit counts in full; includes unmeasurable memory */
    /* lower bound that counts touched units in full. It has the sampling error alone, and so shows
     * whether two measurements differ. With base pages it equals wss_low_bytes */
    uint64_t unit_low_bytes;
    double touched_fraction; /* touched share of the measurable memory */
    /* touched within the window, but no longer resident at its end, so not in wss_bytes */
    uint64_t gone_bytes;
    /* the population differs from the present pages that the panel found, because memory came or
     * went */
    bool unsettled;
    bool disputed; /* accessed bits and a witness differ beyond chance; the bounds include both */
    uint64_t granularity_bytes;
};

/**
 * The working set is the memory that was touched within the window and is still resident at its
 * end; memory that was touched and then ballooned, discarded or swapped out is gone_bytes.
 *
 * A panel's population comes from counters of the process, which are not read at the same moment as
 * the pages, and which cover more than guest RAM. The share of draws found present is another
 * estimate of the population. If the two differ by more than chance explains (1 panel in 15,000),
 * the second is used, the bounds include both, and the estimate is unsettled.
 *
 * @return 0; -ENODATA if nothing could be measured (no page is resident, or all are unmeasurable);
 *         resident_bytes and unmeasurable_bytes are then set as well
 */
int wss_estimate(const struct tally *tally, const struct wss_memory *memory,
                 struct wss_estimate *out);
