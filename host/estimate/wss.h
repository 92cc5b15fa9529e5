// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file wss.h  From a tally to a working set size with its bounds. Pure functions.
 */
#pragma once

#include "sample/tally.h"

struct wss_estimate {
    uint64_t resident_bytes;
    uint64_t unmeasurable_bytes;
    uint64_t wss_bytes;
    uint64_t wss_low_bytes;  /* 95 % interval; a census has no sampling error: low = wss */
    uint64_t wss_high_bytes; /* likewise, plus what was unmeasurable */
    double touched_fraction; /* of what could be measured */
    uint64_t granularity_bytes;
};

/**
 * @param resident_bytes    of guest RAM now. A census reports what it counted, or this if larger (pages of a
 *                          file that are not mapped are resident). A panel likewise: no less than it found.
 * @param population_bytes  of a panel: all the memory of which the pages it found present are a sample, that
 *                          is what is mapped, or what is resident for a method that also sees unmapped pages.
 *                          What is unmeasurable is a share of it.
 * @return 0; -ENODATA when nothing could be measured (no page resident, or all unmeasurable); then
 *         resident_bytes and unmeasurable_bytes are set nevertheless.
 */
int wss_estimate(const struct tally *tally, uint64_t resident_bytes, uint64_t population_bytes,
                 struct wss_estimate *out);
