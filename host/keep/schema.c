// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file schema.c  See schema.h.
 *
 * A sample is one row: its windows and ages are JSON arrays in it, not rows of tables of their own.
 * It is written and read as a whole, and a write costs one page of the table and one of its index;
 * with one row for each of ten windows and bins it would be ten times as many entries in an index
 * of their own. For SQL there is the view wss, which has a row for each window.
 *
 * A table is never altered: a new version adds tables, so that each reads in the file as it reads
 * here, which schema_verify() relies on.
 */
#include "keep/schema.h"

#include "keep/rollup.h"
#include "keep/sql.h"
#include "keep/store_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct table_ddl {
    const char *name;
    const char *sql;
};

/* What is read. The text is compared, so it is one line, as short as it can be. */
static const struct table_ddl tables[] = {
    {"guest", "CREATE TABLE guest(id INTEGER PRIMARY KEY, host TEXT NOT NULL, uuid TEXT NOT NULL, "
              "name TEXT NOT NULL, UNIQUE(host, uuid)) STRICT"},
    {"sample", "CREATE TABLE sample(id INTEGER PRIMARY KEY, guest_id INTEGER NOT NULL, "
               "time_ms INTEGER NOT NULL, period_s REAL NOT NULL, pid INTEGER NOT NULL, "
               "accel TEXT NOT NULL, method TEXT NOT NULL, mode TEXT NOT NULL, "
               "samples INTEGER NOT NULL, precision REAL NOT NULL, "
               "granularity_bytes INTEGER NOT NULL, ram_bytes INTEGER NOT NULL, "
               "resident_bytes INTEGER NOT NULL, unmeasurable_bytes INTEGER NOT NULL, "
               "vcpu_s REAL NOT NULL, cpu_s REAL NOT NULL, paused_s REAL NOT NULL, "
               "flags TEXT NOT NULL, windows TEXT NOT NULL, ages TEXT NOT NULL) STRICT"},
    /* By time first: a report reads all guests of one hour after the other, and they are written
     * together. */
    {"bucket", "CREATE TABLE bucket(level_s INTEGER NOT NULL, start_s INTEGER NOT NULL, "
               "guest_id INTEGER NOT NULL, records INTEGER NOT NULL, period_ms INTEGER NOT NULL, "
               "ram_bytes INTEGER NOT NULL, resident_max_bytes INTEGER NOT NULL, "
               "resident_bytes REAL NOT NULL, unmeasurable_bytes REAL NOT NULL, "
               "vcpu_s REAL NOT NULL, cpu_s REAL NOT NULL, paused_s REAL NOT NULL, "
               "precision REAL NOT NULL, method TEXT NOT NULL, flags TEXT NOT NULL, "
               "windows TEXT NOT NULL, PRIMARY KEY(level_s, start_s, guest_id)) STRICT, "
               "WITHOUT ROWID"},
    /* What the guest itself said at the time of a sample; NULL is not known. */
    {"word", "CREATE TABLE word(sample_id INTEGER PRIMARY KEY, source TEXT NOT NULL, "
             "missing TEXT NOT NULL, total_bytes INTEGER, used_bytes INTEGER, "
             "available_bytes INTEGER, cache_warm_bytes INTEGER, cache_cold_bytes INTEGER, "
             "interval_s REAL, psi_some REAL, psi_full REAL, swap_in_bytes_s REAL, "
             "swap_out_bytes_s REAL, refault_bytes_s REAL, scan_bytes_s REAL, "
             "major_faults_s REAL, window_s REAL NOT NULL, wss_cache_low_bytes INTEGER, "
             "wss_cache_high_bytes INTEGER, wss_anon_low_bytes INTEGER, "
             "wss_anon_high_bytes INTEGER, verdict TEXT NOT NULL, reasons TEXT NOT NULL, "
             "at_least INTEGER NOT NULL, agreement REAL, doubts TEXT NOT NULL) STRICT"},
    /* verdict: 0 unknown, 1 below, 2 near, 3 above, so that the worst is the largest. "_ms": in how
     * much of the time the guest told the figure, of which it is the mean. */
    {"word_bucket", "CREATE TABLE word_bucket(level_s INTEGER NOT NULL, start_s INTEGER NOT NULL, "
                    "guest_id INTEGER NOT NULL, period_ms INTEGER NOT NULL, source TEXT NOT NULL, "
                    "verdict INTEGER NOT NULL, at_least INTEGER NOT NULL, agreement REAL, "
                    "total_bytes INTEGER, used_bytes INTEGER, available_bytes INTEGER, "
                    "cache_warm_bytes REAL, cache_cold_bytes REAL, psi_some REAL, psi_full REAL, "
                    "swap_in_bytes_s REAL, refault_bytes_s REAL, "
                    "cache_warm_bytes_ms INTEGER NOT NULL, cache_cold_bytes_ms INTEGER NOT NULL, "
                    "psi_some_ms INTEGER NOT NULL, psi_full_ms INTEGER NOT NULL, "
                    "swap_in_bytes_s_ms INTEGER NOT NULL, refault_bytes_s_ms INTEGER NOT NULL, "
                    "PRIMARY KEY(level_s, start_s, guest_id)) STRICT, WITHOUT ROWID"},
    /* Of words of guests that measure their own working set. */
    {"own_set", "CREATE TABLE own_set(sample_id INTEGER PRIMARY KEY, window_s REAL NOT NULL, "
                "age_s REAL, anon_bytes INTEGER, file_bytes INTEGER) STRICT"},
    /* What a guest's agent told last, as on the wire: guest-agent/wire.h. */
    {"told", "CREATE TABLE told(guest_id INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, "
             "lines TEXT NOT NULL) STRICT"},
    /* When a guest began, stood still, ended: keep/event.h. */
    {"event", "CREATE TABLE event(id INTEGER PRIMARY KEY, guest_id INTEGER NOT NULL, "
              "time_ms INTEGER NOT NULL, kind TEXT NOT NULL) STRICT"},
};
#define N_TABLES (sizeof(tables) / sizeof(tables[0]))

static const char indexes_1[] =
    "CREATE INDEX sample_by_guest ON sample(guest_id, time_ms);"
    "CREATE VIEW wss AS SELECT g.host, g.name AS domain, g.uuid,"
    " strftime('%Y-%m-%dT%H:%M:%fZ', s.time_ms / 1000.0, 'unixepoch') AS time,"
    " w.value ->> 0 AS window_s, w.value ->> 1 AS est_window_s, w.value ->> 2 AS wss_bytes,"
    " w.value ->> 3 AS wss_low_bytes, w.value ->> 4 AS wss_high_bytes,"
    " w.value ->> 5 AS touched_fraction, s.ram_bytes, s.resident_bytes, s.unmeasurable_bytes,"
    " s.method, s.mode, s.samples, s.flags"
    " FROM sample s JOIN guest g ON g.id = s.guest_id, json_each(s.windows) w;";

static int make_table(struct store *store, const char *name, struct error *error)
{
    for (size_t i = 0; i < N_TABLES; i++)
        if (!strcmp(tables[i].name, name))
            return sql_run(store, tables[i].sql, error);
    return error_set(error, -EINVAL, "no table %s", name);
}

static int to_1(struct store *store, struct error *error)
{
    int rc = make_table(store, "guest", error);

    if (rc == 0)
        rc = make_table(store, "sample", error);
    return rc == 0 ? sql_run(store, indexes_1, error) : rc;
}

/* Version 1 had samples only. */
static int to_2(struct store *store, struct error *error)
{
    int rc = make_table(store, "bucket", error);

    if (rc == 0)
        rc = sql_run(store, "CREATE INDEX bucket_by_guest ON bucket(guest_id, level_s, start_s)",
                     error);
    return rc == 0 ? rollup_all_samples(store, error) : rc;
}

/* Version 2 knew nothing of what guests say. */
static int to_3(struct store *store, struct error *error)
{
    int rc = make_table(store, "word", error);

    return rc == 0 ? make_table(store, "word_bucket", error) : rc;
}

#define UNWEIGHED                                                                    \
    "level_s, start_s, guest_id, period_ms, source, verdict, at_least, agreement,"   \
    " total_bytes, used_bytes, available_bytes, cache_warm_bytes, cache_cold_bytes," \
    " psi_some, psi_full, swap_in_bytes_s, refault_bytes_s"
#define WEIGHT(column) ", iif(" column " IS NULL, 0, period_ms)"

/* Version 3 weighed a mean by all of its time: that is what is known of the figures it has. */
static int to_4(struct store *store, struct error *error)
{
    int rc = sql_run(store, "ALTER TABLE word_bucket RENAME TO unweighed", error);

    if (rc == 0)
        rc = make_table(store, "word_bucket", error);
    if (rc == 0)
        rc = sql_run(store,
                     "INSERT INTO word_bucket SELECT " UNWEIGHED WEIGHT("cache_warm_bytes")
                         WEIGHT("cache_cold_bytes") WEIGHT("psi_some") WEIGHT("psi_full")
                             WEIGHT("swap_in_bytes_s") WEIGHT("refault_bytes_s") " FROM unweighed",
                     error);
    return rc == 0 ? sql_run(store, "DROP TABLE unweighed", error) : rc;
}

/* Version 4 knew nothing of a guest's own working set, nor of its processes. */
static int to_5(struct store *store, struct error *error)
{
    int rc = make_table(store, "own_set", error);

    return rc == 0 ? make_table(store, "told", error) : rc;
}

/* Version 5 did not know that a guest had ended. */
static int to_6(struct store *store, struct error *error)
{
    int rc = make_table(store, "event", error);

    return rc == 0
               ? sql_run(store, "CREATE INDEX event_by_guest ON event(guest_id, time_ms)", error)
               : rc;
}

/* The step to each version from the one before. */
static int (*const steps[])(struct store *store, struct error *error) = {to_1, to_2, to_3,
                                                                         to_4, to_5, to_6};
#define VERSION ((int)(sizeof(steps) / sizeof(steps[0])))

int schema_version(void)
{
    return VERSION;
}

static int read_version(struct store *store, int *version, struct error *error)
{
    int64_t found;
    int rc = sql_run_i64(store, "PRAGMA user_version", &found, error);

    if (rc < 0)
        return rc;
    if (found < 0 || found > VERSION)
        return error_set(error, -EINVAL,
                         "%s: has schema version %lld, this vmwss knows up to %d: use the vmwss "
                         "that wrote it, or another file",
                         store->path, (long long)found, VERSION);
    *version = (int)found;
    return 0;
}

static int climb(struct store *store, int version, struct error *error)
{
    char pragma[64];
    int from = 0;
    int rc = read_version(store, &from, error);

    for (int v = from; rc == 0 && v < version; v++)
        rc = steps[v](store, error);
    if (rc < 0 || from >= version)
        return rc;
    snprintf(pragma, sizeof(pragma), "PRAGMA user_version = %d", version);
    return sql_run(store, pragma, error);
}

int schema_migrate(struct store *store, int version, struct error *error)
{
    /* At once for writing: of two that start together, one waits and finds it done. */
    int rc = sql_run(store, "BEGIN IMMEDIATE", error);

    if (rc < 0)
        return rc;
    rc = climb(store, version, error);
    if (rc == 0)
        rc = sql_run(store, "COMMIT", error);
    if (rc < 0)
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}

static int verify_table(struct store *store, const struct table_ddl *table, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    char sql[2048];
    int rc = sql_prepare(store, "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?",
                         &statement, error);

    if (rc < 0)
        return rc;
    sql_bind_text(statement, 1, table->name);
    rc = sql_step(store, statement, error);
    if (rc < 0)
        return rc;
    if (rc == 0 || sql_text(statement, 0, sql, sizeof(sql)) < 0 || strcmp(sql, table->sql) != 0)
        return error_set(error, -EUCLEAN, "%s: its table %s is not as vmwss makes it", store->path,
                         table->name);
    return 0;
}

int schema_verify(struct store *store, struct error *error)
{
    int version;
    int rc = read_version(store, &version, error);

    if (rc < 0)
        return rc;
    /* The file is marked as ours before its tables are made. */
    if (version == 0)
        return error_set(error, -EBUSY,
                         "%s: nothing is in it yet: vmwssd makes its tables when it starts",
                         store->path);
    if (version < VERSION)
        return error_set(error, -EINVAL,
                         "%s: has schema version %d, this vmwss needs %d: vmwssd updates it when "
                         "it starts",
                         store->path, version, VERSION);
    for (size_t i = 0; rc == 0 && i < N_TABLES; i++)
        rc = verify_table(store, &tables[i], error);
    return rc;
}
