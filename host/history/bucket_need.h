// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file bucket_need.h  A guest's need in a minute, and its right size from an hour: the input of a
 * plan, the same whether the planner reads histories (decide/plan/from_history.h) or series that
 * the exporter served from them (show/metrics/planning.h). Pure functions.
 */
#pragma once

#include "history/bucket.h"

#include <stdbool.h>

/**
 * The upper bound of its WSS in the bucket's first window, or the largest WSS of that time; for a
 * guest that cannot be measured, its resident memory. At most its RAM.
 * @return true: *bytes is set;
 * false: the bucket does not have it
 */
bool bucket_need(const struct bucket *bucket, double *bytes);

/** The same for the bucket's window @p w, which must exist. */
double bucket_window_need(const struct bucket *bucket, size_t w);

/** The time in seconds that each of its records stands for on average. */
double bucket_period_s(const struct bucket *bucket);

/** Returns for how many seconds after its start a bucket of a minute counts as the guest's last one
 * before its next record is late, if each of its records stands for @p period_s. */
double bucket_stands_s(double period_s);

/** The time in seconds, from its start, for which its need is known: a minute, or until the next
 * record may be due, if that is later. */
double bucket_lasts_s(double period_s);

/**
 * The upper bound at the longest window up to an hour: the largest WSS plus the average distance of
 * the bound from the WSS, at most its RAM.
 * @return that window; NULL: the bucket has no such
 * window, and *bytes is not set
 */
const struct bucket_window *bucket_size(const struct bucket *bucket, uint64_t *bytes);
