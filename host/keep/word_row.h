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
#include "estimate/guest_word.h"

#include <sqlite3.h>

struct store;

/* After the sample's columns, from SAMPLE_FROM and WORD_JOIN. */
#define WORD_COLUMNS                                                                           \
    "w.source, w.missing, w.total_bytes, w.used_bytes, w.available_bytes, w.cache_warm_bytes," \
    " w.cache_cold_bytes, w.interval_s, w.psi_some, w.psi_full, w.swap_in_bytes_s,"            \
    " w.swap_out_bytes_s, w.refault_bytes_s, w.scan_bytes_s, w.major_faults_s, w.window_s,"    \
    " w.wss_cache_low_bytes, w.wss_cache_high_bytes, w.wss_anon_low_bytes,"                    \
    " w.wss_anon_high_bytes, w.verdict, w.reasons, w.at_least, w.agreement, w.doubts,"         \
    " o.window_s, o.age_s, o.anon_bytes, o.file_bytes"
#define WORD_N_COLUMNS 29
#define WORD_JOIN \
    " LEFT JOIN word w ON w.sample_id = s.id LEFT JOIN own_set o ON o.sample_id = s.id"

/** From WORD_COLUMNS, the first of which is number @p first. -EUCLEAN */
int word_row_read(sqlite3_stmt *statement, int first, struct guest_word *word);

/** A statement for word_bucket_read(). */
int word_bucket_prepare(struct store *store, sqlite3_stmt **statement, struct error *error);

/** What is left of a minute or an hour: the highest use, the least that was available, means of the
 * rest over time, the
 *  worst verdict, the lowest agreement. WORD_NONE when nothing was told. 0 or negative. */
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
