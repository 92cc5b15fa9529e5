// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file fine.h  The working set in base pages of a guest with huge pages. Pure functions.
 *
 * The measurement gives the number of touched huge pages, T. A sample of these, split and measured
 * again, gives their density D: the mean fraction of touched base pages in a touched huge page.
 * Then
 *
 *    working set = memory in base pages, as measured + T x the huge page x D.
 */
#pragma once

#include "measure/estimate/wss.h"

struct fine_estimate {
    uint64_t wss_bytes;
    uint64_t wss_low_bytes,
        /* 95 % interval, including unmeasurable memory, as in wss_estimate */
        wss_high_bytes;
    /* the coarsest unit that remains: a base page unless there are folios of other sizes */
    uint64_t granularity_bytes;
};

struct density {
    double low, value, high; /* each from 1 / huge_page_pages() to 1 */
};

/**
 * @param fine        the measured huge pages, a simple random sample of the population
 * @param population  number of touched huge pages
 */
struct density fine_density(const struct fine_tally *fine, double population);

/** Parameters and result as in wss_estimate(). Without huge pages the result is that of
 * wss_estimate(). */
int fine_estimate(const struct tally *tally, const struct fine_tally *fine,
                  const struct wss_memory *memory, struct fine_estimate *out);

/** The 97.5 % quantile of Student's t distribution with @p df >= 1 degrees of freedom, to within
 * 0.3 %. */
double student_975(double df);
