// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file consistency.h  Consistency score: how far a guest's statistics and the host's measurement
 * can both be right.
 *
 * Each check is of something that both know, gives the guest a margin for what the two legitimately
 * count differently, and falls from 1 to 0 as the contradiction grows to a quarter of the RAM; the
 * worst counts, and is smoothed over some ten reports, so that one that was taken while much
 * changed does not make a liar.
 *
 * It sees a guest that says it has or uses more than the host has ever given it, one that hides
 * what it touches, one whose clock runs ahead of time, and an agent that repeats old figures once
 * what is touched has moved away from them. It cannot see what leaves no trace in the host's
 * numbers: pressure that is invented or kept back, a false name of a process, cache called
 * anonymous, or less memory in use than there is, as long as no more than that is touched.
 */
#pragma once

#include "measure/estimate/guest_stats.h"

/**
 * The score of one report.
 * @param before  the one before it, or NULL
 * @param inconsistencies  where it is below 1
 * @return 0 .. 1; NAN when nothing could be compared
 */
double consistency_now(const struct guest_report *before, const struct guest_report *now,
                       const struct host_sample *host, unsigned *inconsistencies);

/** The smoothed score so far (NAN: none yet), with another one folded in. */
double consistency_fold(double so_far, double now);
