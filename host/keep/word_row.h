// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file word_row.h  The guest's word beside a record: a row of the table word, and its minute and
 * hour in word_bucket.
 *
 * A record of a guest that nobody asked has no row. What the guest did not tell is NULL. Its own
 * working set, which few measure, has a row of the table own_set.
 */
#pragma once

#include "base/error.h"
#include "keep/columns.h"

#include <sqlite3.h>

struct store;

/** Appends what word_bucket has of the table of fields: ", total_bytes INTEGER, ..." */
void word_bucket_columns(struct sql_text *sql);

/** A statement for word_bucket_read(). */
int word_bucket_prepare(struct store *store, sqlite3_stmt **statement, struct error *error);

/** What is left of a minute or an hour: the highest use, the least that was available, means of the
 * rest over time, the worst verdict, the lowest agreement. WORD_NONE when nothing was told. 0 or
 * negative. */
int word_bucket_read(struct store *store, sqlite3_stmt *statement, int level_s, int64_t start_s,
                     int64_t guest_id, struct guest_word *word, struct error *error);

/** The statements that write it. */
struct word_adding {
    struct store *store;
    sqlite3_stmt *add, *add_own, *add_bucket;
};

/** Finish with word_adding_end(), whatever it returns. */
int word_adding_begin(struct word_adding *adding, struct store *store, struct error *error);
void word_adding_end(struct word_adding *adding);

/** What goes with the row. */
struct word_place {
    int64_t sample_id, guest_id, time_s;
    double period_s;
};

/** Adds what goes with a sample; nothing when nobody asked. */
int word_add(const struct word_adding *adding, const struct word_place *place,
             const struct guest_word *word, struct error *error);
