// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file bucket_need.h  What a guest needed in a minute, and how large an hour says that it should
 * be: what a plan is made from, the same whether the planner reads histories
 * (decide/plan/from_history.h) or what the exporter served of them (show/metrics/planning.h). Pure
 * functions.
 */
#pragma once

#include "history/bucket.h"

#include <stdbool.h>

/**
 * The upper bound of its WSS in the bucket's first window, or the largest WSS of that time; of a
 * guest that cannot be measured what is resident. At most its RAM.
 * @return true: *bytes is set; false: the bucket does not tell
 */
bool bucket_need(const struct bucket *bucket, double *bytes);

/** The same of the bucket's window @p w, of one that has it. */
double bucket_window_need(const struct bucket *bucket, size_t w);

/** What each of its records stands for on average, in seconds. */
double bucket_period_s(const struct bucket *bucket);

/** How long after its start a bucket of a minute is still the guest's last one before its next
 * record is late, in seconds, if its records stand for so long each. */
double bucket_stands_s(double period_s);

/** The time from its start for which its need is known, in seconds: a minute, or until the next
 * record may be due, where that is later. */
double bucket_lasts_s(double period_s);

/**
 * The upper bound at the longest window up to an hour: as far above the largest WSS as the bound is
 * on average, at most its RAM.
 * @return that window; NULL: the bucket has none, and *bytes is not set
 */
const struct bucket_window *bucket_size(const struct bucket *bucket, uint64_t *bytes);
