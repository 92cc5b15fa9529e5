// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file host_need.h  What all guests of a host needed together, minute by minute.
 *
 * Theory of operation. Needs of guests must be added up moment by moment: where cron starts 20
 * guests together the p99 of the sum is 46 GiB, and a draw of each guest's hour says 31. Minutes of
 * each guest are kept for a month only, so the sum of each minute is a row of its own, and an hour
 * has the distribution of the sums of its minutes, with its exact minimum and maximum.
 *
 * A guest's part is the upper bound of its WSS in that minute (bucket_need.h); of one that has no
 * record in the minute its last one, until the next is late, or it has ended. A minute that no
 * record stands for has no row: it is a gap. A minute is added up with the first record after it,
 * in the transaction of that record, and anew when a record of it comes late; so whatever adds
 * records to a history keeps this as well. Each window has its own sum, of the guests that have it.
 */
#pragma once

#include "keep/history.h"

/** Adds up the minutes that are over. The records that were just added are of the minutes
 * @p first_s .. @p last_s, and stand for at most @p period_s. Within a transaction. */
int host_need_sum(struct store *store, int64_t first_s, int64_t last_s, double period_s,
                  struct error *error);

/** One minute, or an hour. */
struct host_need {
    double start_s;
    double max_bytes;
    uint64_t minutes;          /* that are known, of the window */
    struct sketch_step *steps; /* of an hour: of its minutes; NULL: of a minute */
    size_t n_steps;
};

struct host_needs {
    struct host_need *all; /* by time */
    size_t n;
};

/** Those of one host in the span, at the query's window. Free it with host_needs_free(), whatever
 * is returned. None are in a history whose writer did not add them up yet. -EUCLEAN: a row is not
 * what it must be; -ENOMEM */
int host_needs_read(struct store *store, const char *host, const struct history_query *query,
                    struct host_needs *needs, struct error *error);
void host_needs_free(struct host_needs *needs);
