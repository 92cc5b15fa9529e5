// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file bucket_need.h  A guest's need in a minute, and its right size from an hour, as a plan uses
 * them. The functions serve planners that read histories (decide/plan/from_history.h), and the
 * exporter, whose series planners read (show/metrics/planning.h). Pure functions.
 */
#pragma once

#include "history/bucket.h"

#include <stdbool.h>

/**
 * Computes the need: the upper bound of the WSS in the bucket's first window, or the largest WSS of
 * that time if it is larger; for a guest that cannot be measured, its resident memory. At most its
 * RAM.
 * @return true: *bytes is set; false: the bucket does not have it
 */
bool bucket_need(const struct bucket *bucket, double *bytes);

/** The need in the bucket's window @p w, which must exist. */
double bucket_window_need(const struct bucket *bucket, size_t w);

/** The mean time in seconds that each record of the bucket covers. */
double bucket_period_s(const struct bucket *bucket);

/** Returns for how many seconds after its start a bucket stands for the guest, whose records cover
 * @p period_s each: after that time the next record is late. */
double bucket_stands_s(double period_s);

/** The seconds after a minute's start for which its need is known: a minute, or until the next
 * record is due, if that is later. */
double bucket_lasts_s(double period_s);

/**
 * The upper bound at the longest window up to an hour: the largest WSS plus the average distance of
 * the bound from the WSS, at most its RAM.
 * @return that window; NULL if the bucket has no such window; *bytes is then not set
 */
const struct bucket_window *bucket_size(const struct bucket *bucket, uint64_t *bytes);
