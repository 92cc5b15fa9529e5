// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file fine.h  Measures how full the touched huge pages are, by splitting a few of them and
 * measuring again.
 *
 * A transparent huge page has one accessed bit for all of it. So after an ordinary measurement a
 * few of the huge pages that it found touched are drawn at random, split, measured for one more
 * window by their base pages, and joined again. Only touched huge pages are drawn, because the
 * estimate needs the touched fraction of a touched huge page, and an untouched one has no touched
 * base page. Splitting changes how the host maps the guest for that window, so it is done only on
 * request.
 *
 * A guardian process joins them if this process is killed (base/guardian.h). If both are killed,
 * khugepaged may join them at some time.
 */
#pragma once

#include "measure/run.h"

struct fine_result {
    struct fine_tally tally;
    unsigned doubts;               /* doubts of the measurement by base pages */
    uint64_t not_joined;           /* split by this process, and not joined again */
    double window_s, est_window_s; /* windows of the measurement by base pages */
    double split_s, join_s;        /* wall time of splitting and joining all of them */
    /* our own CPU time, for everything after the ordinary measurement */
    double cpu_s;
};

/** Checks that huge pages of this guest can be split and joined, without trying it. -ENOTSUP with
 * the reason. */
int fine_check(const struct target *target, struct error *error);

/**
 * Runs sample_run(), and then the second measurement, for the longest window of the plan.
 * @param n  huge pages to draw, 1 .. FINE_MAX_HUGE_PAGES; fewer are drawn if fewer were touched
 * @return as sample_run(); -ENOTSUP when the kernel cannot join huge pages again, detected before
 * any page was split
 */
int fine_run(const struct target *target, const struct sample_plan *plan, size_t n,
             struct sample_result *result, struct fine_result *fine, struct error *error);
