// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file kept.h  Made-up records and a database in a directory of its own, for the tests of
 * host/history. */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"
#include "history/history.h"
#include "history/store.h"

#include "fixture.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1ULL << 20)
#define UUID_1 "11111111-1111-4111-8111-111111111111"
#define UUID_2 "22222222-2222-4222-8222-222222222222"

struct kept_dir {
    char dir[64];
    char path[96]; /* of the database in it */
};

/** Removed when the test ends. */
static inline struct kept_dir kept_dir_make(void)
{
    struct kept_dir kept;

    snprintf(kept.dir, sizeof(kept.dir), "%s", unit_dir());
    snprintf(kept.path, sizeof(kept.path), "%s/history.db", kept.dir);
    return kept;
}

/** The test's own history, once kept_begin() has run. */
__attribute__((unused)) static struct kept_dir kept;

static inline void kept_begin(void)
{
    kept = kept_dir_make();
}

/** A record of one guest: windows of 10 s and 60 s, of @p mib and twice that, in 1 GiB of which 512
 * MiB are resident. */
static inline struct ages_record kept_record(const char *name, const char *uuid, double at_s,
                                             uint64_t mib)
{
    struct ages_record record = {.n_bins = 3};
    struct sample_record *sample = &record.sample;

    *sample = (struct sample_record){
        .time = {.tv_sec = (time_t)at_s, .tv_nsec = (long)((at_s - floor(at_s)) * 1e9)},
        .host = "testhost",
        .pid = 4242,
        .accel = ACCEL_KVM,
        .method = "idle",
        .samples = 2000,
        .granularity_bytes = 4096,
        .ram_bytes = 1024 * MIB,
        .resident_bytes = 512 * MIB,
        .unmeasurable_bytes = 2 * MIB,
        .vcpu_s = 1.5,
        .cpu_s = 0.25,
        .flags = FLAG_THP | FLAG_PARTIAL,
        .n_windows = 2,
    };
    snprintf(sample->domain, sizeof(sample->domain), "%s", name);
    snprintf(sample->uuid, sizeof(sample->uuid), "%s", uuid);
    for (size_t w = 0; w < 2; w++)
        sample->windows[w] = (struct window_record){
            .window_s = w == 0 ? 10 : 60,
            .est_window_s = w == 0 ? 10.04 : 60.01,
            .vcpu_s = w == 0 ? 0.25 : 1.5,
            .wss_bytes = mib * MIB * (w + 1),
            .wss_low_bytes = mib * MIB * (w + 1) - MIB / 2,
            .wss_high_bytes = mib * MIB * (w + 1) + MIB,
            .unit_low_bytes = mib * MIB * (w + 1) - MIB / 2,
            .touched_fraction = (double)(mib * (w + 1)) / 512,
        };
    record.bins[0] = (struct age_bin){0, 10, 1, 0, 2};
    record.bins[1] = (struct age_bin){10, 60, 3, 2, 4};
    record.bins[2] = (struct age_bin){60, HUGE_VAL, 5, 4, 6};
    return record;
}

/** Adds a record of kept_record() that stands for @p period_s. */
static inline void kept_add_of(struct store *store, const char *uuid, double at_s, uint64_t mib,
                               double period_s)
{
    const struct ages_record record = kept_record("web1", uuid, at_s, mib);
    const struct store_entry entry = {.record = &record, .period_s = period_s, .precision = 0.022};

    ck_assert_ok(store_add(store, &entry, 1, &error));
}

/** store_add() of one record that stands for 30 s. */
static inline int kept_add(struct store *store, const struct ages_record *record,
                           struct error *error)
{
    const struct store_entry entry = {.record = record, .period_s = 30, .precision = 0.022};

    return store_add(store, &entry, 1, error);
}

static inline void cleanup_store_at(struct store **store)
{
    store_close(*store);
}
#define cleanup_store __attribute__((cleanup(cleanup_store_at)))

static inline struct store *kept_open(const char *path)
{
    struct store *store = NULL;

    ck_assert_ok(store_open(path, &store, &error));
    return store;
}

/** Opens the test's own history for reading. */
static inline struct store *kept_read(void)
{
    struct store *store = NULL;

    ck_assert_ok(history_open(kept.path, &store, &error));
    return store;
}

/** The first column of the first row, as another program sees it; freed by the caller. */
static inline char *kept_ask(const char *path, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    char *answer;

    ck_assert_int_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK, "%s",
                  sqlite3_errmsg(db));
    answer = sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0)
                 ? strdup((const char *)sqlite3_column_text(statement, 0))
                 : NULL;
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return answer;
}

#define ck_assert_sql(path, sql, expected)    \
    do {                                      \
        char *answer_ = kept_ask(path, sql);  \
        ck_assert_pstr_eq(answer_, expected); \
        free(answer_);                        \
    } while (0)
