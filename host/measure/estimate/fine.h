// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file fine.h  The working set, in base pages, where a guest has huge pages. Pure functions.
 *
 * What was measured gives the huge pages that were touched, T of them; a sample of these, split and
 * measured again, gives their density D: the mean fraction of base pages that a touched huge page
 * has touched. Then
 *   working set = what was in base pages, as measured + T x the huge page x D.
 */
#pragma once

#include "measure/estimate/wss.h"

struct fine_estimate {
    uint64_t wss_bytes;
    uint64_t wss_low_bytes,
        wss_high_bytes;         /* 95 % interval, and what was unmeasurable, as in wss_estimate */
    uint64_t granularity_bytes; /* the coarsest that is left: a base page unless there are folios
                                   between */
};

struct density {
    double low, value, high; /* 1 / huge_page_pages() .. 1 */
};

/**
 * @param fine        the huge pages looked at, which are a simple random sample of
 * @param population  those that were touched
 */
struct density fine_density(const struct fine_tally *fine, double population);

/** Parameters as of wss_estimate(), and its result. Without huge pages it is what wss_estimate()
 * says. */
int fine_estimate(const struct tally *tally, const struct fine_tally *fine,
                  const struct wss_memory *memory, struct fine_estimate *out);

/** 97.5 % point of Student's distribution with @p df degrees of freedom, df >= 1; within 0.3 %. */
double student_975(double df);
