// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file moments.h  All that is kept of one guest, minute by minute or hour by hour: for decisions
 * and their replay. */
#pragma once

#include "history/history.h"

/** A minute or an hour. Belongs to the walk, until the next. */
struct history_moment {
    int64_t start_s;             /* Unix time */
    const struct bucket *bucket; /* with all windows that were answered in it; may have none */
    struct guest_stats guest;    /* as of a bucket in struct history_point */
};

/** Calls @p see for one guest in the order of time, from the bucket that @p from_s is in. What it
 * returns, if not 0, ends the walk and is returned. @p level_s: BUCKET_MINUTE or BUCKET_HOUR.
 * Errors as of history_points(). */
int history_moments(struct store *store, const struct history_guest *guest, int level_s,
                    double from_s, double to_s,
                    int (*see)(const struct history_moment *moment, void *context), void *context,
                    struct error *error);

/** When the first record of the guest's process was added that is still kept, Unix time: it has
 * been up since then at least. 1; 0: there is none. */
int history_first_of_process(struct store *store, int64_t guest_id, pid_t pid, double *time_s,
                             struct error *error);
