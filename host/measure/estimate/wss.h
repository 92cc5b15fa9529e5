// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file wss.h  From a tally to a working set size with its bounds. Pure functions.
 */
#pragma once

#include "measure/tally.h"

/** What a panel's draws are a sample of. */
struct wss_memory {
    uint64_t
        ram_bytes; /* guest RAM, of which all draws are; 0: not known, the population is believed */
    uint64_t resident_bytes;   /* of it now. A census reports what it counted, or this if larger
                                  (pages of a file that are   not mapped are resident). A panel
                                  likewise: no less than it found. */
    uint64_t population_bytes; /* all the memory of which the draws found present are: what is
                                  mapped, or what is resident for a method that also sees unmapped
                                  pages. What is unmeasurable is a share of it. */
    uint64_t
        population_error_bytes; /* by so much that may be wrong; the bounds of a panel hold it */
};

struct wss_estimate {
    uint64_t resident_bytes;
    uint64_t unmeasurable_bytes;
    uint64_t wss_bytes;
    /* Of the bytes touched; 95 % interval, but a census has no sampling error. */
    uint64_t wss_low_bytes;  /* of each unit touched only one base page counts (least.h) */
    uint64_t wss_high_bytes; /* each counts in full; and what was unmeasurable */
    uint64_t unit_low_bytes; /* of touched units in full: the sampling error alone, which of two
                                measurements tells whether they differ. With base pages it is
                                wss_low_bytes */
    double touched_fraction; /* of what could be measured */
    uint64_t gone_bytes;     /* touched within the window, but no longer resident at its end: not in
                                wss_bytes */
    bool unsettled; /* memory came or went meanwhile: the population is not what the panel found
                       present */
    bool disputed;  /* accessed bits and a witness differ beyond chance; the bounds hold both */
    uint64_t granularity_bytes;
};

/**
 * The working set is what was touched within the window and is still resident at its end; what was
 * touched and then ballooned, discarded or swapped out is gone_bytes.
 *
 * A panel's population comes from counters of the process, read at another moment than the pages
 * and not of guest RAM alone. The share of draws found present says the same with a sampling error.
 * Where the two differ by more than chance explains (1 panel of 15,000), the panel's own share is
 * taken, the bounds hold both, and the estimate is unsettled.
 *
 * @return 0; -ENODATA when nothing could be measured (no page resident, or all unmeasurable); then
 *         resident_bytes and unmeasurable_bytes are set nevertheless.
 */
int wss_estimate(const struct tally *tally, const struct wss_memory *memory,
                 struct wss_estimate *out);
