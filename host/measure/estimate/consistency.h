// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file consistency.h  Consistency score: how well a guest's statistics agree with the host's
 * measurement.
 *
 * Each check compares a figure that both know, with a margin for legitimate differences in
 * counting, and falls from 1 to 0 as the contradiction grows to a quarter of the RAM. The score is
 * that of the worst check, smoothed over some ten reports, so that one report taken during a change
 * does not discredit the guest.
 *
 * It detects a guest that reports more total or used memory than the host has ever given it, one
 * that hides touched memory, one whose clock runs ahead, and an agent that repeats old figures
 * after the touched memory has moved away from them. It cannot detect lies that leave no trace in
 * the host's numbers: invented or concealed pressure, a false process name, cache reported as
 * anonymous memory, or used memory that is too low but not below the touched memory.
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

/** Updates the smoothed score (NAN: no score yet) with the score of another report. */
double consistency_fold(double so_far, double now);
