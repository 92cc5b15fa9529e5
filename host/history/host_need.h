// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file host_need.h  The joint need of all guests of a host, minute by minute.
 *
 * Theory of operation. Needs of guests must be added up moment by moment: if cron starts 20 guests
 * together the p99 of the sum is 46 GiB, and drawing each guest's hour independently gives 31. Each
 * guest's minutes are kept for a month only, so the sum of each minute is stored as well, and for
 * each hour the distribution of its minutes' sums, with the exact minimum and maximum.
 *
 * A guest contributes the upper bound of its WSS in that minute (bucket_need.h), from the one
 * record that covers the minute (standing.h). A record can cover hours, so it may be added hours
 * later. A minute that no record covers has no row: it is a gap. Each window has its own sum, over
 * the guests that have the window.
 *
 * A minute is added up in the transaction that adds the first record after it, and again when a
 * late record is added, so every writer of records also maintains the sums. If records cover more
 * than a minute, the minute is added up once more when no record can reach back to it any more.
 * Readers do not wait for that: while the guests' minutes are kept, they add these up themselves.
 * The table host_minutes keeps every minute of an hour, so that the time for which a given capacity
 * was exceeded is exact; older files only have the hour's distribution, with its exact minimum and
 * maximum.
 */
#pragma once

#include "history/history.h"

/** Adds up the complete minutes. The records just added belong to the minutes @p first_s .. @p
 * last_s, and cover at most @p period_s. Call it within a transaction. */
int host_need_sum(struct store *store, int64_t first_s, int64_t last_s, double period_s,
                  struct error *error);

/** One minute. */
struct host_need {
    double start_s;
    double bytes;
    /* from an hour's distribution: within SKETCH_ERROR, and the minute is not known */
    bool rough;
};

struct host_needs {
    struct host_need *all; /* ordered by time */
    size_t n;
};

/** Reads the known minutes of one host in the span, at the query's window: at the level of minutes
 * from the buckets of its guests, at the level of hours from the stored sums. Call
 * host_needs_free() even after an error. A history of a writer without sums has no hours. Returns
 * -EUCLEAN: a row is invalid; -ENOMEM */
int host_needs_read(struct store *store, const char *host, const struct history_query *query,
                    struct host_needs *needs, struct error *error);
void host_needs_free(struct host_needs *needs);
