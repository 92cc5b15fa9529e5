// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file moments.h  All data of one guest, minute by minute or hour by hour: for decisions and
 * their replay. */
#pragma once

#include "history/history.h"

/** A minute or an hour. Valid until the walk's next call. */
struct history_moment {
    int64_t start_s;             /* Unix time */
    const struct bucket *bucket; /* with all windows answered in it, perhaps none */
    struct guest_stats guest;    /* as for a bucket in struct history_point */
};

/** Calls @p see for one guest in the order of time, from the bucket that contains the query's
 * from_s on. A nonzero return value of @p see ends the walk and is returned. The query's level is
 * BUCKET_MINUTE or BUCKET_HOUR; without a window, the buckets have all of theirs. Errors as
 * history_points(). */
int history_moments(struct store *store, const struct history_guest *guest,
                    const struct history_query *query,
                    int (*see)(const struct history_moment *moment, void *context), void *context,
                    struct error *error);

/** Finds when the oldest record still kept of the guest's process was added, Unix time: the guest
 * has been up since then at least. Returns 1; 0: there is no record. */
int history_first_of_process(struct store *store, int64_t guest_id, pid_t pid, double *time_s,
                             struct error *error);
