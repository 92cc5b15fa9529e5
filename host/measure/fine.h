// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file fine.h  How full are the huge pages that were touched? A few of them are split and measured
 * again.
 *
 * A transparent huge page has one accessed bit for all of it. So after an ordinary measurement a
 * few of the huge pages that it found touched are drawn at random, split, measured for one more
 * window by their base pages, and joined again. Only touched ones are drawn: of the others the
 * answer is known, and what the estimate needs is how much of a touched one is touched. It changes
 * how the host maps the guest for that window, so it is done only when asked for.
 *
 * A guardian process joins them if this one is killed (base/guardian.h). If both are, khugepaged
 * may do it some time.
 */
#pragma once

#include "measure/run.h"

struct fine_result {
    struct fine_tally tally;
    unsigned doubts;               /* of the measurement by base pages */
    uint64_t not_joined;           /* split by us, and small pages still */
    double window_s, est_window_s; /* of the measurement by base pages */
    double split_s, join_s;        /* wall time of splitting and joining all of them */
    double cpu_s;                  /* our own, for everything after the ordinary measurement */
};

/** Can huge pages of this guest be split and joined? -ENOTSUP with the reason. Nothing is tried
 * yet. */
int fine_check(const struct target *target, struct error *error);

/**
 * sample_run(), and then the second measurement, for the longest window of the plan.
 * @param n  huge pages to draw, 1 .. FINE_MAX_HUGE_PAGES; fewer when fewer were touched
 * @return as sample_run(); -ENOTSUP when the kernel cannot join huge pages again, before any was
 * split
 */
int fine_run(const struct target *target, const struct sample_plan *plan, size_t n,
             struct sample_result *result, struct fine_result *fine, struct error *error);
