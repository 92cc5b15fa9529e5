// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file guest_stats_row.h  The guest's statistics with a record: a row of table `word`; summaries
 * of minutes and hours are in table `word_bucket`.
 *
 * If the guest was not queried, the record has no such row. Columns that the guest did not report
 * are NULL. The guest's own working set, which few guests measure, is in table `own_set`.
 */
#pragma once

#include "base/error.h"
#include "history/columns.h"

#include <sqlite3.h>

struct store;

/** Appends the columns of word_bucket from the table of fields: ", total_bytes INTEGER, ..." */
void guest_stats_bucket_columns(struct sql_text *sql);

/** Prepares a statement for guest_stats_bucket_read(). */
int guest_stats_bucket_prepare(struct store *store, sqlite3_stmt **statement, struct error *error);

/** Identifies a minute or an hour of a guest. */
struct bucket_key {
    int level_s;
    int64_t start_s, guest_id;
};

/** Reads the summary of a minute or an hour: the highest use, the least available memory, the worst
 * verdict, the lowest consistency score, and means over time of all other figures. GUEST_STATS_NONE
 * if nothing was reported. Returns 0 or negative. */
int guest_stats_bucket_read(struct store *store, sqlite3_stmt *statement,
                            const struct bucket_key *key, struct guest_stats *stats,
                            struct error *error);

/** The statements that write the rows. */
struct guest_stats_adding {
    struct store *store;
    sqlite3_stmt *add, *add_own, *add_bucket;
};

/** Call guest_stats_adding_end() even after an error. */
int guest_stats_adding_begin(struct guest_stats_adding *adding, struct store *store,
                             struct error *error);
void guest_stats_adding_end(struct guest_stats_adding *adding);

/** The keys of the row. */
struct guest_stats_place {
    int64_t sample_id, guest_id, time_s;
    double period_s;
};

/** Adds the statistics of a sample; adds nothing if the guest was not queried. */
int guest_stats_add(const struct guest_stats_adding *adding, const struct guest_stats_place *place,
                    const struct guest_stats *stats, struct error *error);
