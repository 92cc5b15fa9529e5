// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file history.c  See history.h: opens the history, and reads guests and their last records. */
#include "history/history.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "history/database.h"
#include "history/kept_row.h"
#include "history/open_store.h"
#include "history/quarantine.h"
#include "history/schema.h"
#include "history/sql.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A record this far in the future was written before the clock was set back. */
#define FUTURE_S 1

/* --- opening ---------------------------------------------------------------------------------- */

static int check_file(const char *path, struct error *error)
{
    enum file_kind kind;
    int rc = file_identify(path, &kind, error);

    if (rc < 0)
        return rc;
    if (kind == FILE_NEW)
        return error_set(error, -ENOENT,
                         "%s: no history there: start vmwssd, or name another with --database",
                         path);
    if (kind == FILE_OURS)
        return 0;
    return error_set(error, -EINVAL, "%s: is not a history of vmwss", path);
}

int history_refresh(struct store *store, struct error *error)
{
    read_limit_begin(&store->limit, store->db, store->path);
    if (!sqlite3_get_autocommit(store->db))
        sql_run(store, "COMMIT", NULL);
    return sql_run(store, "BEGIN", error);
}

static int begin_reading(struct store *store, int flags, struct error *error)
{
    int rc = database_open(store, SQLITE_OPEN_READONLY | flags, error);

    if (rc == 0)
        rc = history_refresh(store, error);
    return rc == 0 ? schema_verify(store, error) : rc;
}

/* Opens a file that has no WAL, and beside which none can be created, such as a copy on a read-only
 * file system. A file with records in its WAL is not opened in this way, because they would be
 * missing. */
static int read_immutable(struct store *store, struct error *error)
{
    database_close(store);
    return begin_reading(store, SQLITE_OPEN_URI, error);
}

static int open_reading(struct store *store, struct error *error)
{
    int rc = begin_reading(store, 0, error);

    if (rc != -EROFS && rc != -ENOENT && rc != -EACCES)
        return rc;
    if (!store_has_wal(store))
        return read_immutable(store, error);
    return error_set(error, -EACCES,
                     "%s: its WAL cannot be read: be root, or have read access to %s-wal and "
                     "%s-shm",
                     store->path, store->path, store->path);
}

int history_open_beside(const char *path, struct store **out, struct error *error)
{
    struct store *store = store_new(path, error);
    int rc = store ? open_reading(store, error) : -ENOMEM;

    if (rc < 0)
        store_close(store);
    else
        *out = store;
    return rc;
}

int history_open(const char *path, struct store **out, struct error *error)
{
    int rc = check_file(path, error);

    return rc < 0 ? rc : history_open_beside(path, out, error);
}

/* --- guests ----------------------------------------------------------------------------------- */

static int read_guest(struct store *store, sqlite3_stmt *statement, struct history_guest *guest,
                      struct error *error)
{
    if (sql_i64(statement, 0, &guest->id) < 0 ||
        sql_text(statement, 1, guest->host, sizeof(guest->host)) < 0 ||
        sql_text(statement, 2, guest->name, sizeof(guest->name)) < 0 ||
        sql_text(statement, 3, guest->uuid, sizeof(guest->uuid)) < 0)
        return sql_invalid(store, "a guest", error);
    return 0;
}

ssize_t history_guests(struct store *store, struct history_guest **guests, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    struct history_guest guest;
    size_t n = 0;
    int rc = sql_prepare(store, "SELECT id, host, name, uuid FROM guest ORDER BY host, name, uuid",
                         &statement, error);

    *guests = NULL;
    if (rc < 0)
        return rc;
    while ((rc = sql_step(store, statement, error)) == 1) {
        rc = read_guest(store, statement, &guest, error);
        if (rc == 0 && array_put(guests, &n, &guest, sizeof(guest)) < 0)
            rc = sql_no_memory(store, error);
        if (rc < 0)
            break;
    }
    if (rc == 0)
        return (ssize_t)n;
    free(*guests);
    *guests = NULL;
    return rc;
}

int history_find(struct store *store, const char *name_or_uuid, struct history_guest *guest,
                 struct error *error)
{
    cleanup_free struct history_guest *guests = NULL;
    ssize_t n = history_guests(store, &guests, error);
    size_t matches = 0;

    for (ssize_t i = 0; guests && i < n; i++) {
        bool is_uuid = strcasecmp(guests[i].uuid, name_or_uuid) == 0;

        if (!is_uuid && strcmp(guests[i].name, name_or_uuid) != 0)
            continue;
        *guest = guests[i];
        matches = is_uuid ? 1 : matches + 1;
        if (is_uuid)
            break;
    }
    if (n < 0)
        return (int)n;
    if (matches == 0)
        return error_set(error, -ENOENT, "domain %s: no records in %s", name_or_uuid, store->path);
    if (matches > 1)
        return error_set(error, -ENOTUNIQ,
                         "domain %s: %zu guests of that name are in %s: give the UUID",
                         name_or_uuid, matches, store->path);
    return 0;
}

/* --- records ---------------------------------------------------------------------------------- */

/* The last record by time, which is at the end of the index. */
#define LATEST                                                                       \
    " FROM guest g JOIN sample s ON"                                                 \
    " s.id = (SELECT l.id FROM sample l WHERE l.guest_id = g.id AND l.time_ms <= ?1" \
    " ORDER BY l.time_ms DESC, l.id DESC LIMIT 1)" KEPT_JOIN
#define WHEN_ENDED                                                                         \
    ", (SELECT max(e.time_ms) FROM event e WHERE e.guest_id = g.id AND e.kind = 'end' AND" \
    " e.time_ms >= s.time_ms AND e.time_ms <= ?1)"

static void bind_now(sqlite3_stmt *statement)
{
    sqlite3_bind_int64(statement, 1, (int64_t)((store_clock_now().wall_s + FUTURE_S) * 1000));
}

/* Reads the next record of a statement with LATEST and WHEN_ENDED. */
static int next_latest(struct store *store, sqlite3_stmt *statement, struct kept_sample *kept,
                       struct error *error)
{
    int rc = kept_row_next(store, statement, kept, error);
    int64_t ended_ms;

    kept->ended_s = 0;
    if (rc == 1 && sql_i64(statement, sqlite3_column_count(statement) - 1, &ended_ms) == 0)
        kept->ended_s = (double)ended_ms / 1000;
    return rc;
}

int history_latest(struct store *store, int (*see)(const struct kept_sample *sample, void *context),
                   void *context, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    cleanup_free struct kept_sample *kept = malloc(sizeof(*kept));
    int rc;

    if (!kept)
        return sql_no_memory(store, error);
    rc = kept_row_prepare(store, WHEN_ENDED, LATEST " ORDER BY g.host, g.name, g.uuid", &statement,
                          error);
    if (rc == 0)
        bind_now(statement);
    while (rc == 0 && (rc = next_latest(store, statement, kept, error)) == 1)
        rc = see(kept, context);
    return rc;
}

int history_latest_of(struct store *store, int64_t guest_id, struct kept_sample *kept,
                      struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = kept_row_prepare(store, WHEN_ENDED, LATEST " WHERE g.id = ?2", &statement, error);

    if (rc < 0)
        return rc;
    bind_now(statement);
    sqlite3_bind_int64(statement, 2, guest_id);
    return next_latest(store, statement, kept, error);
}

int history_last_report(struct store *store, int64_t guest_id, char lines[AGENT_LAST_REPORT_MAX],
                        double *time_s, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int64_t time_ms;
    /* a file not yet converted by a writer: see schema.c */
    const int is_new = schema_has(store, "last_report", error);
    const char *sql = is_new ? "SELECT time_ms, lines FROM last_report WHERE guest_id = ?"
                             : "SELECT time_ms, lines FROM told WHERE guest_id = ?";
    int rc = is_new < 0 ? is_new : sql_prepare_with(store, sql, &statement, error, guest_id);

    if (rc == 0)
        rc = sql_step(store, statement, error);
    if (rc != 1)
        return rc;
    if (sql_i64(statement, 0, &time_ms) < 0 ||
        sql_text(statement, 1, lines, AGENT_LAST_REPORT_MAX) < 0)
        return error_set(error, -EUCLEAN, "%s: an agent's report that vmwss did not write",
                         store->path);
    *time_s = (double)time_ms / 1000;
    return 1;
}
