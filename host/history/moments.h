// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file moments.h  All data of one guest, by minute or hour, for decisions and their replay. */
#pragma once

#include "history/history.h"

/** A minute or an hour; valid until @p see is called again. */
struct history_moment {
    int64_t start_s;             /* Unix time */
    const struct bucket *bucket; /* with all windows that it answered, perhaps none */
    struct guest_stats guest;    /* as for a bucket in struct history_point */
};

/** Calls @p see for one guest in the order of time, beginning with the bucket that contains the
 * query's from_s. If @p see returns nonzero, the walk ends and returns that value. The query's
 * level is BUCKET_MINUTE or BUCKET_HOUR; if it has no window, the buckets have all their windows.
 * Errors as history_points(). */
int history_moments(struct store *store, const struct history_guest *guest,
                    const struct history_query *query,
                    int (*see)(const struct history_moment *moment, void *context), void *context,
                    struct error *error);

/** Finds the Unix time of the oldest stored record of the guest's process: the guest has been up at
 * least since then. Returns 1; 0: there is no record. */
int history_first_of_process(struct store *store, int64_t guest_id, pid_t pid, double *time_s,
                             struct error *error);
