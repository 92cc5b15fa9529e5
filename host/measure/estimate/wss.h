// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file wss.h  Estimates a working set size with its bounds from a tally. Pure functions.
 */
#pragma once

#include "measure/tally.h"

/** The memory of which a panel's draws are a sample. */
struct wss_memory {
    /* guest RAM, from which all draws come; 0: not known, and the population is trusted */
    uint64_t ram_bytes;
    /* resident part now. A census reports its own count, or this if larger (pages of a file that
     * are not mapped are resident). A panel, too, reports no less than it found. */
    uint64_t resident_bytes;
    /* the memory of which the present draws are a sample: mapped memory, or resident memory for a
     * method that also sees unmapped pages. Unmeasurable memory is a share of it. */
    uint64_t population_bytes;
    /* the possible error of population_bytes; a panel's bounds include it */
    uint64_t population_error_bytes;
};

struct wss_estimate {
    uint64_t resident_bytes;
    uint64_t unmeasurable_bytes;
    uint64_t wss_bytes;
    /* Touched bytes; 95 % interval, but a census has no sampling error. */
    uint64_t wss_low_bytes;  /* each touched unit counts as one base page only (least.h) */
    uint64_t wss_high_bytes; /* each touched unit counts in full; includes unmeasurable memory */
    /* lower bound with touched units in full: this has the sampling error alone, so it shows
     * whether two measurements differ. With base pages it equals wss_low_bytes */
    uint64_t unit_low_bytes;
    double touched_fraction; /* touched share of the measurable memory */
    uint64_t gone_bytes;     /* touched within the window, but no longer resident at its end: not in
                                wss_bytes */
    /* memory came or went meanwhile: the population differs from the present pages that the panel
     * found */
    bool unsettled;
    bool disputed; /* accessed bits and a witness differ beyond chance; the bounds include both */
    uint64_t granularity_bytes;
};

/**
 * The working set is the memory that was touched within the window and is still resident at its
 * end; memory that was touched and then ballooned, discarded or swapped out is gone_bytes.
 *
 * A panel's population comes from counters of the process, which are read at another moment than
 * the pages and cover more than guest RAM. The share of draws found present gives the same size
 * with a sampling error. If the two differ by more than chance explains (1 panel of 15,000), the
 * panel's own share is taken, the bounds include both, and the estimate is unsettled.
 *
 * @return 0; -ENODATA if nothing could be measured (no page resident, or all unmeasurable);
 *         resident_bytes and unmeasurable_bytes are set in that case, too.
 */
int wss_estimate(const struct tally *tally, const struct wss_memory *memory,
                 struct wss_estimate *out);
