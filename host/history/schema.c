// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file schema.c  See schema.h.
 *
 * A sample is one row; its windows and ages are JSON arrays in that row, because a sample is always
 * written and read as a whole. A write costs one page of the table and one of its index. With one
 * row for each of ten windows and bins, a separate index would have ten times as many entries. For
 * SQL users, the view wss has a row for each window.
 *
 * A table is never altered, because schema_verify() requires that its text in the file equals its
 * text here. New tables are added to older files by the next writer; until then readers do without
 * them. Version 1 kept the agents' last reports in the table "told"; the next writer converts such
 * a file, and readers accept both. A file of any other version is refused.
 */
#include "history/schema.h"

#include "base/array.h"
#include "history/columns.h"
#include "history/guest_stats_row.h"
#include "history/open_store.h"
#include "history/sql.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* The tables. Their text is compared, so each is one line without extra blanks; the columns of the
 * tables of fields (measure/record/field.h) replace "*". */
static const struct table_ddl {
    const char *name;
    const char *sql;
    const struct field *(*fields)(void);
    void (*columns)(struct sql_text *sql); /* instead of fields */
    enum field_home home;                  /* of the fields */
    bool added;                            /* older files of these versions may lack the table */
    bool old;                              /* only files of version 1 have it; it is not created */
} tables[] = {
    {.name = "guest",
     .sql = "CREATE TABLE guest(id INTEGER PRIMARY KEY, host TEXT NOT NULL, uuid TEXT NOT NULL, "
            "name TEXT NOT NULL, UNIQUE(host, uuid)) STRICT"},
    /* For guests of a known manager: guest/domain/owner.h. */
    {.name = "owner",
     .sql = "CREATE TABLE owner(guest_id INTEGER PRIMARY KEY*) STRICT",
     .fields = sample_fields,
     .home = HOME_OWNER,
     .added = true},
    {.name = "sample",
     .sql = "CREATE TABLE sample(id INTEGER PRIMARY KEY, guest_id INTEGER NOT NULL*) STRICT",
     .fields = sample_fields,
     .home = HOME_SAMPLE},
    /* The key begins with the time, because reports read all guests of one hour after the other,
     * and all guests are written together. */
    {.name = "bucket",
     .sql = "CREATE TABLE bucket(level_s INTEGER NOT NULL, start_s INTEGER NOT NULL, "
            "guest_id INTEGER NOT NULL, records INTEGER NOT NULL, period_ms INTEGER NOT NULL, "
            "resident_max_bytes INTEGER NOT NULL, windows TEXT NOT NULL*, "
            "PRIMARY KEY(level_s, start_s, guest_id)) STRICT, WITHOUT ROWID",
     .fields = sample_fields,
     .home = HOME_SUMMARY},
    /* Joint need of all guests of a host: see host_need.h. "windows" is as in a bucket. */
    {.name = "host_need",
     .sql = "CREATE TABLE host_need(level_s INTEGER NOT NULL, start_s INTEGER NOT NULL, "
            "host TEXT NOT NULL, guests INTEGER NOT NULL, minutes INTEGER NOT NULL, "
            "windows TEXT NOT NULL, PRIMARY KEY(level_s, start_s, host)) STRICT, WITHOUT ROWID",
     .added = true},
    /* Joint need of each minute of an hour: see host_need.h. "needs" is [minute, bytes, ...]. */
    {.name = "host_minutes",
     .sql = "CREATE TABLE host_minutes(level_s INTEGER NOT NULL, start_s INTEGER NOT NULL, "
            "host TEXT NOT NULL, window_ms INTEGER NOT NULL, needs TEXT NOT NULL, "
            "PRIMARY KEY(level_s, start_s, host, window_ms)) STRICT, WITHOUT ROWID",
     .added = true},
    /* The guest's own report at the time of a sample; NULL: not known. */
    {.name = "word",
     .sql = "CREATE TABLE word(sample_id INTEGER PRIMARY KEY*) STRICT",
     .fields = guest_stats_fields,
     .home = HOME_GUEST_STATS},
    /* verdict: 0 unknown, 1 below, 2 near, 3 above, so that max() is the worst. "_ms" columns: the
     * time in which the guest reported the figure; the figure is a mean over that time. */
    {.name = "word_bucket",
     .sql = "CREATE TABLE word_bucket(level_s INTEGER NOT NULL, start_s INTEGER NOT NULL, "
            "guest_id INTEGER NOT NULL, period_ms INTEGER NOT NULL, source TEXT NOT NULL, "
            "verdict INTEGER NOT NULL, at_least INTEGER NOT NULL*, "
            "PRIMARY KEY(level_s, start_s, guest_id)) STRICT, WITHOUT ROWID",
     .columns = guest_stats_bucket_columns},
    /* For guests that measure their own working set. */
    {.name = "own_set",
     .sql = "CREATE TABLE own_set(sample_id INTEGER PRIMARY KEY*) STRICT",
     .fields = guest_stats_fields,
     .home = HOME_OWN_SET},
    /* The last report of a guest's agent, as on the wire: host/base/wire/wire.h. */
    {.name = "last_report",
     .sql = "CREATE TABLE last_report(guest_id INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, "
            "lines TEXT NOT NULL) STRICT",
     .added = true},
    {.name = "told",
     .sql = "CREATE TABLE told(guest_id INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, "
            "lines TEXT NOT NULL) STRICT",
     .old = true},
    /* Write working sets: history/writes.h. The time is that of the sample with which one came. */
    {.name = "write_set",
     .sql = "CREATE TABLE write_set(guest_id INTEGER NOT NULL, time_ms INTEGER NOT NULL*, "
            "PRIMARY KEY(guest_id, time_ms)) STRICT, WITHOUT ROWID",
     .fields = write_fields,
     .home = HOME_WRITE_SET,
     .added = true},
    /* Start, suspension and end of a guest: history/event.h. */
    {.name = "event",
     .sql = "CREATE TABLE event(id INTEGER PRIMARY KEY, guest_id INTEGER NOT NULL, "
            "time_ms INTEGER NOT NULL, kind TEXT NOT NULL) STRICT"},
};

static struct sql_text table_sql(const struct table_ddl *table)
{
    const char *star = table->fields || table->columns ? strchr(table->sql, '*') : NULL;
    struct sql_text sql = {0};

    if (!star) {
        sql_append(&sql, table->sql);
        return sql;
    }
    sql.used = (size_t)(star - table->sql);
    memcpy(sql.text, table->sql, sql.used);
    if (table->fields)
        columns_append(&sql, table->fields(), table->home, ", # @");
    else
        table->columns(&sql);
    sql_append(&sql, star + 1);
    return sql;
}

/* Without the indexes a reader of many guests reads all records once for each of them. The view is
 * for people and other programs. */
static const struct table_ddl indexes[] = {
    {.name = "sample_by_guest", .sql = "CREATE INDEX sample_by_guest ON sample(guest_id, time_ms)"},
    {.name = "bucket_by_guest",
     .sql = "CREATE INDEX bucket_by_guest ON bucket(guest_id, level_s, start_s)"},
    {.name = "event_by_guest", .sql = "CREATE INDEX event_by_guest ON event(guest_id, time_ms)"},
};

static const char view[] =
    "CREATE VIEW wss AS SELECT g.host, g.name AS domain, g.uuid,"
    " strftime('%Y-%m-%dT%H:%M:%fZ', s.time_ms / 1000.0, 'unixepoch') AS time,"
    " w.value ->> 0 AS window_s, w.value ->> 1 AS est_window_s, w.value ->> 2 AS wss_bytes,"
    " w.value ->> 3 AS wss_low_bytes, w.value ->> 4 AS wss_high_bytes,"
    " w.value ->> 5 AS touched_fraction, w.value ->> 7 AS vcpu_s,"
    " s.ram_bytes, s.resident_bytes, s.unmeasurable_bytes,"
    " s.method, s.mode, s.samples, s.flags"
    " FROM sample s JOIN guest g ON g.id = s.guest_id, json_each(s.windows) w;";

#define VERSION 2
#define SET_VERSION "PRAGMA user_version = 2"
/* This runs after the new tables were created. */
static const char from_version_1[] = "INSERT INTO last_report SELECT guest_id, time_ms, lines"
                                     " FROM told; DROP TABLE told; " SET_VERSION;

/* Returns version 0 if the file is marked as ours but has no tables yet. */
static int read_version(struct store *store, int *version, struct error *error)
{
    int64_t found;
    int rc = sql_run_i64(store, "PRAGMA user_version", &found, error);

    if (rc < 0)
        return rc;
    if (found < 0 || found > VERSION)
        return error_set(error, -EINVAL,
                         "%s: has schema version %lld, and this vmwss reads versions 1 to %d: use "
                         "the vmwss that wrote it, or move it away with its -wal and -shm, and "
                         "vmwssd begins a new one",
                         store->path, (long long)found, VERSION);
    *version = (int)found;
    return 0;
}

int schema_has(struct store *store, const char *table, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = sql_prepare(store, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?",
                         &statement, error);

    if (rc < 0)
        return rc;
    sql_bind_text(statement, 1, table);
    return sql_step(store, statement, error);
}

static int make_added(struct store *store, struct error *error)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < COUNT(tables); i++) {
        if (!tables[i].added)
            continue;
        rc = schema_has(store, tables[i].name, error);
        rc = rc == 0 ? sql_run(store, table_sql(&tables[i]).text, error) : rc < 0 ? rc : 0;
    }
    return rc;
}

static int make_all(struct store *store, struct error *error)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < COUNT(tables); i++)
        if (!tables[i].old)
            rc = sql_run(store, table_sql(&tables[i]).text, error);
    for (size_t i = 0; rc == 0 && i < COUNT(indexes); i++)
        rc = sql_run(store, indexes[i].sql, error);
    if (rc == 0)
        rc = sql_run(store, view, error);
    return rc == 0 ? sql_run(store, SET_VERSION, error) : rc;
}

static int make_tables(struct store *store, struct error *error)
{
    int version = VERSION;
    int rc = read_version(store, &version, error);

    if (rc == 0 && version == 0)
        return make_all(store, error);
    if (rc == 0)
        rc = make_added(store, error);
    return rc == 0 && version == 1 ? sql_run(store, from_version_1, error) : rc;
}

int schema_make(struct store *store, struct error *error)
{
    /* IMMEDIATE takes the write lock at once: if two processes start together, one waits and then
     * finds the tables. */
    int rc = sql_run(store, "BEGIN IMMEDIATE", error);

    return rc == 0 ? sql_commit(store, make_tables(store, error), error) : rc;
}

static int verify_part(struct store *store, const char *type, const struct table_ddl *table,
                       struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    const struct sql_text wanted = table_sql(table);
    char sql[2048];
    /* SQL finds a table, a virtual one or a view by its name in capitals as well. */
    int rc = sql_prepare(store, "SELECT sql FROM sqlite_schema WHERE name = ? COLLATE NOCASE",
                         &statement, error);

    if (rc < 0)
        return rc;
    sql_bind_text(statement, 1, table->name);
    rc = sql_step(store, statement, error);
    if (rc < 0 || (rc == 0 && (table->added || table->old)))
        return rc;
    if (rc == 0 || sql_text(statement, 0, sql, sizeof(sql)) < 0 || strcmp(sql, wanted.text) != 0)
        return error_set(error, -EUCLEAN, "%s: its %s %s is not as vmwss makes it", store->path,
                         type, table->name);
    return 0;
}

int schema_verify(struct store *store, struct error *error)
{
    int version;
    int rc = read_version(store, &version, error);

    if (rc < 0)
        return rc;
    if (version == 0)
        return error_set(error, -EBUSY,
                         "%s: nothing is in it yet: vmwssd makes its tables when it starts",
                         store->path);
    for (size_t i = 0; rc == 0 && i < COUNT(tables); i++)
        rc = verify_part(store, "table", &tables[i], error);
    for (size_t i = 0; rc == 0 && i < COUNT(indexes); i++)
        rc = verify_part(store, "index", &indexes[i], error);
    return rc;
}
