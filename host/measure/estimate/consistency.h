// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file consistency.h  Consistency score: the degree to which a guest's statistics and the host's
 * measurement can both be right.
 *
 * Each check compares a figure that both know, with a margin for legitimate differences in
 * counting, and falls from 1 to 0 as the contradiction grows to a quarter of the RAM. The worst
 * check counts, smoothed over some ten reports, so that a single report that was taken during
 * changes does not discredit the guest.
 *
 * It detects a guest that reports more total or used memory than the host has ever given it, one
 * that hides touched memory, one whose clock runs ahead, and an agent that repeats old figures
 * after the touched memory has moved away from them. It cannot detect lies without a trace in the
 * host's numbers: pressure that is invented or concealed, a false process name, cache reported as
 * anonymous, or too little memory in use, as long as no more than that is touched.
 */
#pragma once

#include "measure/estimate/guest_stats.h"

/**
 * The score of one report.
 * @param before  the previous report, or NULL
 * @param inconsistencies  the checks whose score is below 1
 * @return 0 .. 1; NAN if nothing could be compared
 */
double consistency_now(const struct guest_report *before, const struct guest_report *now,
                       const struct host_sample *host, unsigned *inconsistencies);

/** The smoothed score so far (NAN: no score yet), updated by another one. */
double consistency_fold(double so_far, double now);
