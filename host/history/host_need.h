// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file host_need.h  What all guests of a host needed together, minute by minute.
 *
 * Theory of operation. Needs of guests must be added up moment by moment: where cron starts 20
 * guests together the p99 of the sum is 46 GiB, and a draw of each guest's hour says 31. Minutes of
 * each guest are kept for a month only, so the sum of each minute is a row of its own, and an hour
 * has the distribution of the sums of its minutes, with its exact minimum and maximum.
 *
 * A guest's part is the upper bound of its WSS in that minute (bucket_need.h), of the one record
 * that stands for it (standing.h): as records stand for up to hours, that may come hours later. A
 * minute that no record stands for has no row: it is a gap. Each window has its own sum, of the
 * guests that have it.
 *
 * A minute is added up with the first record after it, in the transaction of that record, and anew
 * when a record of it comes late; so whatever adds records to a history keeps this as well. Where
 * records stand for longer than a minute it is added up once more as soon as none can reach back to
 * it. Readers do not wait for that: they add up minutes themselves while those of the guests are
 * kept. Of an hour each of its minutes is kept, in the table host_minutes, so that how long a given
 * capacity was exceeded is exact; its distribution, with the exact minimum and maximum, is all that
 * older files have.
 */
#pragma once

#include "history/history.h"

/** Adds up the minutes that are over. The records that were just added are of the minutes
 * @p first_s .. @p last_s, and stand for at most @p period_s. Within a transaction. */
int host_need_sum(struct store *store, int64_t first_s, int64_t last_s, double period_s,
                  struct error *error);

/** A minute. */
struct host_need {
    double start_s;
    double bytes;
    bool rough; /* from an hour's distribution: within SKETCH_ERROR, and of any of its minutes */
};

struct host_needs {
    struct host_need *all; /* by time */
    size_t n;
};

/** The minutes of one host in the span that are known, at the query's window: at the level of
 * minutes from the buckets of its guests, at that of hours from what was kept of them. Free it with
 * host_needs_free(), whatever is returned. Hours are not in a history whose writer did not add them
 * up yet. -EUCLEAN: a row is not what it must be; -ENOMEM */
int host_needs_read(struct store *store, const char *host, const struct history_query *query,
                    struct host_needs *needs, struct error *error);
void host_needs_free(struct host_needs *needs);
