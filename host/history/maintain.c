// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file maintain.c  Retention, and checkpoints of the WAL. */
#include "base/array.h"
#include "base/clock.h"
#include "history/bucket.h"
#include "history/open_store.h"
#include "history/size.h"
#include "history/sql.h"
#include "history/store.h"
#include "history/wal.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

/* A statement deletes about this many rows, so that readers wait only briefly, and a call runs it
 * at most TURNS times. */
#define ROWS_AT_ONCE 5000
#define TURNS 20

/* The clock must have run for this time without a jump before it is trusted for deleting; and the
 * smallest jump. */
#define SETTLE_S 3600.0
#define JUMP_S 60.0

const struct store_retention store_retention_default = {
    .raw_s = 86400,
    .minute_s = 31 * 86400.0,
    .hour_s = 731 * 86400.0,
    .max_bytes = 10ULL << 30,
};

int store_retention_check(const struct store_retention *retention, struct error *error)
{
    if (retention->max_bytes > 0 && retention->max_bytes < STORE_MAX_BYTES_MIN)
        return error_set(error, -EINVAL, "retention: a history of at least 16 MiB");
    if (retention->raw_s >= 6000 && retention->minute_s >= 360000 &&
        retention->minute_s >= retention->raw_s && retention->hour_s >= retention->minute_s &&
        isfinite(retention->hour_s))
        return 0;
    return error_set(error, -EINVAL,
                     "retention: at least 100 minutes of records, 100 hours of minutes and as much "
                     "as of records, and of hours as much as of minutes");
}

struct store_clock store_clock_now(void)
{
    return (struct store_clock){.wall_s = clock_s(CLOCK_REALTIME),
                                .steady_s = clock_s(CLOCK_BOOTTIME)};
}

/* A clock that is years ahead for a moment must not delete the history. */
static bool clock_settled(struct store *store, const struct store_clock *clock)
{
    double offset_s = clock->wall_s - clock->steady_s;

    if (!store->clock_seen || fabs(offset_s - store->clock_offset_s) > JUMP_S) {
        store->clock_seen = true;
        store->settled_at_s = clock->steady_s + SETTLE_S;
    }
    store->clock_offset_s = offset_s; /* slewing does not count as a jump */
    return clock->steady_s >= store->settled_at_s;
}

/* Runs a statement with two parameters until nothing is left to delete, or TURNS times. */
static int delete_in_turns(struct store *store, const char *sql, int64_t first, int64_t second,
                           struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = sql_prepare_with(store, sql, &statement, error, first, second);

    for (int turn = 0; rc == 0 && turn < TURNS; turn++) {
        rc = sql_finish(store, statement, error);
        if (sqlite3_changes(store->db) == 0)
            break;
    }
    return rc;
}

static int delete_buckets(struct store *store, const char *table, int level_s, double before_s,
                          struct error *error)
{
    char sql[512];

    /* Deletes all rows with the same start together: with many guests, a limit could otherwise
     * select no row at all. */
    snprintf(sql, sizeof(sql),
             "DELETE FROM %s WHERE level_s = ?1 AND start_s < ?2 AND start_s <= coalesce("
             "(SELECT start_s FROM %s WHERE level_s = ?1 ORDER BY start_s LIMIT 1 OFFSET %d),"
             " ?2)",
             table, table, ROWS_AT_ONCE);
    /* A bucket is deleted only when its end is old enough. */
    return delete_in_turns(store, sql, level_s, (int64_t)floor(before_s) - level_s + 1, error);
}

#define OLD_SAMPLES                           \
    "(SELECT s.id FROM guest g JOIN sample s" \
    " ON s.guest_id = g.id AND s.time_ms < ?1 LIMIT ?2)"

/* Deletes samples, each with the guest's statistics. */
static int delete_samples(struct store *store, int64_t before_ms, struct error *error)
{
    static const char *const statements[] = {"DELETE FROM own_set WHERE sample_id IN " OLD_SAMPLES,
                                             "DELETE FROM word WHERE sample_id IN " OLD_SAMPLES,
                                             "DELETE FROM sample WHERE id IN " OLD_SAMPLES};
    int rc = 0;

    for (int turn = 0; rc == 0 && turn < TURNS; turn++) {
        for (size_t i = 0; rc == 0 && i < 3; i++) {
            cleanup_statement sqlite3_stmt *statement = NULL;

            rc = sql_prepare_with(store, statements[i], &statement, error, before_ms, ROWS_AT_ONCE);
            if (rc == 0)
                rc = sql_finish(store, statement, error);
        }
        if (sqlite3_changes(store->db) == 0)
            break;
    }
    return rc;
}

/* Deletes rows whose samples another process has deleted; sample numbers ascend with time. */
#define DELETE_ALONE(table)                                                  \
    "DELETE FROM " table " WHERE sample_id IN (SELECT sample_id FROM " table \
    " WHERE sample_id < (SELECT coalesce(min(id), ?1) FROM sample) LIMIT ?2)"

static int delete_guest_stats(struct store *store, struct error *error)
{
    int rc = delete_in_turns(store, DELETE_ALONE("own_set"), INT64_MAX, ROWS_AT_ONCE, error);

    return rc == 0 ? delete_in_turns(store, DELETE_ALONE("word"), INT64_MAX, ROWS_AT_ONCE, error)
                   : rc;
}

/* By guest, because the key begins with it. */
#define DELETE_OLD_WRITES                                                                         \
    "DELETE FROM write_set WHERE (guest_id, time_ms) IN (SELECT w.guest_id, w.time_ms FROM guest" \
    " g JOIN write_set w ON w.guest_id = g.id AND w.time_ms < ?1 LIMIT ?2)"

/* Events are kept as long as hours, but not longer than their guest. */
static int delete_events(struct store *store, double before_s, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = sql_prepare_with(store,
                              "DELETE FROM event WHERE time_ms < ? OR guest_id NOT IN (SELECT id"
                              " FROM guest)",
                              &statement, error, (int64_t)floor(before_s * 1000));

    return rc == 0 ? sql_finish(store, statement, error) : rc;
}

static int delete_old(struct store *store, const struct store_retention *retention, double now_s,
                      struct error *error)
{
    static const char *const tables[] = {"bucket", "word_bucket", "host_need", "host_minutes"};
    int rc = delete_samples(store, (int64_t)floor((now_s - retention->raw_s) * 1000), error);

    if (rc == 0)
        rc = delete_guest_stats(store, error);
    if (rc == 0)
        rc = delete_in_turns(store, DELETE_OLD_WRITES,
                             (int64_t)floor((now_s - retention->minute_s) * 1000), ROWS_AT_ONCE,
                             error);
    for (size_t i = 0; rc == 0 && i < COUNT(tables); i++) {
        rc = delete_buckets(store, tables[i], BUCKET_MINUTE, now_s - retention->minute_s, error);
        if (rc == 0)
            rc = delete_buckets(store, tables[i], BUCKET_HOUR, now_s - retention->hour_s, error);
    }
    if (rc == 0)
        rc = sql_run(store,
                     "DELETE FROM guest WHERE NOT EXISTS (SELECT 1 FROM sample WHERE guest_id ="
                     " guest.id) AND NOT EXISTS (SELECT 1 FROM bucket WHERE guest_id = guest.id)"
                     " AND NOT EXISTS (SELECT 1 FROM write_set WHERE guest_id = guest.id)",
                     error);
    if (rc == 0)
        rc = sql_run(store, "DELETE FROM last_report WHERE guest_id NOT IN (SELECT id FROM guest)",
                     error);
    if (rc == 0)
        rc = sql_run(store, "DELETE FROM owner WHERE guest_id NOT IN (SELECT id FROM guest)",
                     error);
    if (rc == 0)
        rc = delete_events(store, now_s - retention->hour_s, error);
    return rc;
}

/* SQLite reuses the file's free pages, so it returns them only after the retention was
 * shortened. */
static int give_back(struct store *store, struct error *error)
{
    int64_t free_pages = 0;
    int64_t pages = 0;
    int rc = sql_run_i64(store, "PRAGMA freelist_count", &free_pages, error);

    if (rc == 0)
        rc = sql_run_i64(store, "PRAGMA page_count", &pages, error);
    if (rc < 0 || free_pages < 1000 || free_pages < pages / 4)
        return rc;
    return sql_run(store, "PRAGMA incremental_vacuum(1000)", error);
}

uint64_t store_wal_held_bytes(const struct store *store)
{
    return wal_held_bytes(store);
}

int store_maintain(struct store *store, const struct store_retention *retention,
                   const struct store_clock *clock, struct error *error)
{
    /* call it every time, because it measures time */
    const bool settled = clock_settled(store, clock);
    int rc = wal_check(store, error); /* deleting writes to the WAL, too */

    if (rc == 0 && settled)
        rc = delete_old(store, retention, clock->wall_s, error);
    if (rc == 0 && retention->max_bytes > 0)
        rc = size_fit(store, retention->max_bytes, error);
    if (rc == 0)
        rc = give_back(store, error);
    /* The checkpoint does not wait for readers: pages that they need stay in the WAL. */
    return rc == 0 ? wal_checkpoint(store, error) : rc;
}
