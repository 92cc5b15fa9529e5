// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file schema.c  See schema.h.
 *
 * A sample is one row: its windows and ages are JSON arrays in it, not rows of tables of their own. It is written and
 * read as a whole, and a write costs one page of the table and one of its index; with one row for each of ten windows
 * and bins it would be ten times as many entries in an index of their own. For SQL there is the view wss, which has a
 * row for each window.
 *
 * A table is never altered: a new version adds tables, so that each reads in the file as it reads here, which
 * schema_verify() relies on.
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
    /* By time first: a report reads all guests of one hour after the other, and they are written together. */
    {"bucket", "CREATE TABLE bucket(level_s INTEGER NOT NULL, start_s INTEGER NOT NULL, "
               "guest_id INTEGER NOT NULL, records INTEGER NOT NULL, period_ms INTEGER NOT NULL, "
               "ram_bytes INTEGER NOT NULL, resident_max_bytes INTEGER NOT NULL, "
               "resident_bytes REAL NOT NULL, unmeasurable_bytes REAL NOT NULL, "
               "vcpu_s REAL NOT NULL, cpu_s REAL NOT NULL, paused_s REAL NOT NULL, "
               "precision REAL NOT NULL, method TEXT NOT NULL, flags TEXT NOT NULL, "
               "windows TEXT NOT NULL, PRIMARY KEY(level_s, start_s, guest_id)) STRICT, "
               "WITHOUT ROWID"},
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

/* The step to each version from the one before. */
static int (*const steps[])(struct store *store, struct error *error) = {to_1, to_2};
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
    if (version < VERSION)
        return error_set(error, -EINVAL,
                         "%s: has schema version %d, this vmwss needs %d: vmwssd updates it when "
                         "it starts",
                         store->path, version, VERSION);
    for (size_t i = 0; rc == 0 && i < N_TABLES; i++)
        rc = verify_table(store, &tables[i], error);
    return rc;
}
