// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/writes.h"

#include "history/columns.h"
#include "history/open_store.h"
#include "history/schema.h"
#include "history/sql.h"

/* Returns 1; 0: an older file, in which no writer has made the table yet. */
static int prepare(struct store *store, const char *rest, sqlite3_stmt **statement,
                   struct error *error)
{
    struct sql_text sql = {0};
    int rc = schema_has(store, "write_set", error);

    if (rc != 1)
        return rc;
    sql_append(&sql, "SELECT w.time_ms");
    columns_append(&sql, write_fields(), HOME_WRITE_SET, ", w.#");
    sql_append(&sql, " FROM write_set w ");
    sql_append(&sql, rest);
    rc = sql_prepare(store, sql.text, statement, error);
    return rc < 0 ? rc : 1;
}

static int next_writes(struct store *store, sqlite3_stmt *statement, struct kept_writes *writes,
                       struct error *error)
{
    int64_t time_ms;
    int rc = sql_step(store, statement, error);

    *writes = (struct kept_writes){0};
    if (rc != 1)
        return rc;
    if (sql_i64(statement, 0, &time_ms) < 0 ||
        columns_read(statement, 1, write_fields(), HOME_WRITE_SET, &writes->curve) < 0)
        return sql_invalid(store, "a write working set", error);
    writes->time_s = (double)time_ms / 1000;
    return 1;
}

int history_writes(struct store *store, int64_t guest_id, const struct history_query *query,
                   int (*see)(const struct kept_writes *writes, void *context), void *context,
                   struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    struct kept_writes writes;
    int rc = prepare(store,
                     "WHERE w.guest_id = ? AND w.time_ms >= ? AND w.time_ms <= ?"
                     " ORDER BY w.time_ms",
                     &statement, error);

    if (rc != 1)
        return rc;
    sql_bind_all(statement, 1, guest_id, sql_whole(query->from_s * 1000),
                 sql_whole(query->to_s * 1000));
    while ((rc = next_writes(store, statement, &writes, error)) == 1) {
        rc = see(&writes, context);
        if (rc != 0)
            break;
    }
    return rc;
}

int history_latest_writes(struct store *store, const char *host, const char *uuid, double since_s,
                          struct kept_writes *writes, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = prepare(store,
                     "WHERE w.guest_id = (SELECT id FROM guest WHERE host = ? AND uuid = ?)"
                     " AND w.time_ms >= ? ORDER BY w.time_ms DESC LIMIT 1",
                     &statement, error);

    *writes = (struct kept_writes){0};
    if (rc != 1)
        return rc;
    sql_bind_text(statement, 1, host);
    sql_bind_text(statement, 2, uuid);
    sqlite3_bind_int64(statement, 3, sql_whole(since_s * 1000));
    return next_writes(store, statement, writes, error);
}
