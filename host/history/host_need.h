// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file host_need.h  The joint need of all guests of a host, minute by minute.
 *
 * Theory of operation. Needs of guests must be added up moment by moment: if cron starts 20 guests
 * together the p99 of the sum is 46 GiB, and drawing each guest's hour independently gives 31. The
 * minutes of each guest are kept for a month only, so the sum of each minute is stored in a row of
 * its own, and an hour has the distribution of its minutes' sums, with the exact minimum and
 * maximum.
 *
 * A guest contributes the upper bound of its WSS in that minute (bucket_need.h), from the one
 * record that stands for it (standing.h): records stand for up to hours, so that record may be
 * added hours later. A minute without such a record has no row: it is a gap. Each window has its
 * own sum, over the guests that have the window.
 *
 * A minute is added up when the first record after it is added, in the same transaction, and again
 * when a record of it comes late; so every writer of records also maintains the sums. If records
 * stand for longer than a minute, it is added up once more as soon as no record can reach back to
 * it. Readers do not wait for that: they add up minutes themselves while the minutes of the guests
 * are kept. The table host_minutes keeps every minute of an hour, so that the time for which a
 * given capacity was exceeded is exact; older files only have the hour's distribution, with its
 * exact minimum and maximum.
 */
#pragma once

#include "history/history.h"

/** Adds up the minutes that are over. The records that were just added belong to the minutes @p
 * first_s .. @p last_s, and stand for at most @p period_s. Call within a transaction. */
int host_need_sum(struct store *store, int64_t first_s, int64_t last_s, double period_s,
                  struct error *error);

/** One minute. */
struct host_need {
    double start_s;
    double bytes;
    /* from an hour's distribution: within SKETCH_ERROR, and not assigned to a certain minute */
    bool rough;
};

struct host_needs {
    struct host_need *all; /* ordered by time */
    size_t n;
};

/** Reads the known minutes of one host in the span, at the query's window: at the level of minutes
 * from the buckets of its guests, at the level of hours from the stored sums. Free it with
 * host_needs_free(), whatever is returned. A history whose writer did not add up sums yet has no
 * hours. Returns -EUCLEAN: a row is invalid; -ENOMEM */
int host_needs_read(struct store *store, const char *host, const struct history_query *query,
                    struct host_needs *needs, struct error *error);
void host_needs_free(struct host_needs *needs);
