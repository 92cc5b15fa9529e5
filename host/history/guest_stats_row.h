// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file guest_stats_row.h  The guest's statistics beside a record: a row of the table word, and its
 * minute and hour in word_bucket.
 *
 * A record has no row if the guest was not asked. What the guest did not report is NULL. Its own
 * working set, which few measure, has a row of the table own_set.
 */
#pragma once

#include "base/error.h"
#include "history/columns.h"

#include <sqlite3.h>

struct store;

/** Appends what word_bucket has of the table of fields: ", total_bytes INTEGER, ..." */
void guest_stats_bucket_columns(struct sql_text *sql);

/** A statement for guest_stats_bucket_read(). */
int guest_stats_bucket_prepare(struct store *store, sqlite3_stmt **statement, struct error *error);

/** What is left of a minute or an hour: the highest use, the least that was available, means of the
 * rest over time, the worst verdict, the lowest consistency score. GUEST_STATS_NONE when nothing
 * was reported. 0 or negative. */
int guest_stats_bucket_read(struct store *store, sqlite3_stmt *statement, int level_s,
                            int64_t start_s, int64_t guest_id, struct guest_stats *stats,
                            struct error *error);

/** The statements that write it. */
struct guest_stats_adding {
    struct store *store;
    sqlite3_stmt *add, *add_own, *add_bucket;
};

/** Finish with guest_stats_adding_end(), whatever it returns. */
int guest_stats_adding_begin(struct guest_stats_adding *adding, struct store *store,
                             struct error *error);
void guest_stats_adding_end(struct guest_stats_adding *adding);

/** What goes with the row. */
struct guest_stats_place {
    int64_t sample_id, guest_id, time_s;
    double period_s;
};

/** Adds what goes with a sample; nothing when the guest was not asked. */
int guest_stats_add(const struct guest_stats_adding *adding, const struct guest_stats_place *place,
                    const struct guest_stats *stats, struct error *error);
