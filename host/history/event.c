// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/event.h"

#include "base/array.h"
#include "history/open_store.h"
#include "history/sql.h"
#include "history/wal.h"

#include <math.h>
#include <string.h>

static const char *const names[] = {
    [EVENT_START] = "start",   [EVENT_SUSPEND] = "suspend", [EVENT_RESUME] = "resume",
    [EVENT_RESIZE] = "resize", [EVENT_END] = "end",         [EVENT_UNWATCH] = "unwatch",
    [EVENT_STALL] = "stall",   [EVENT_SAVE] = "save",       [EVENT_MIGRATE_IN] = "migrate-in",
    [EVENT_OTHER] = "other",   [EVENT_RESTORE] = "restore", [EVENT_MIGRATE_OUT] = "migrate-out",
};

const char *event_kind_name(enum event_kind kind)
{
    return names[kind];
}

/* Accepts unknown kinds: a later version may write more, and its history is not damaged. */
static enum event_kind parse_kind(const char *name)
{
    for (size_t k = 0; k < COUNT(names); k++)
        if (strcmp(name, names[k]) == 0)
            return (enum event_kind)k;
    return EVENT_OTHER;
}

/* Keeps one row per guest, even if it stalls often. */
static int forget_stall(struct store *store, const struct store_event *event, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = sql_prepare(store,
                         "DELETE FROM event WHERE kind = 'stall' AND guest_id ="
                         " (SELECT id FROM guest WHERE host = ? AND uuid = ?)",
                         &statement, error);

    if (rc < 0)
        return rc;
    sql_bind_text(statement, 1, event->host);
    sql_bind_text(statement, 2, event->uuid);
    return sql_finish(store, statement, error);
}

int store_add_event(struct store *store, const struct store_event *event, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = wal_check(store, error);

    if (rc == 0 && event->kind == EVENT_STALL)
        rc = forget_stall(store, event, error);
    if (rc == 0)
        rc = sql_prepare(store,
                         "INSERT INTO event(guest_id, time_ms, kind)"
                         " SELECT id, ?, ? FROM guest WHERE host = ? AND uuid = ?",
                         &statement, error);
    if (rc < 0)
        return rc;
    sqlite3_bind_int64(statement, 1, (int64_t)floor(event->time_s * 1000));
    sql_bind_text(statement, 2, event_kind_name(event->kind));
    sql_bind_text(statement, 3, event->host);
    sql_bind_text(statement, 4, event->uuid);
    rc = sql_finish(store, statement, error);
    return rc < 0 ? rc : sqlite3_changes(store->db) == 0;
}

/* Reads a row with the columns time_ms and kind. */
static int read_event(struct store *store, sqlite3_stmt *statement, enum event_kind *kind,
                      double *time_s, struct error *error)
{
    char name[256];
    int64_t time_ms;

    if (sql_i64(statement, 0, &time_ms) < 0 || sql_text(statement, 1, name, sizeof(name)) < 0)
        return sql_invalid(store, "an event", error);
    *kind = parse_kind(name);
    *time_s = (double)time_ms / 1000;
    return 0;
}

int history_events(struct store *store, int64_t guest_id, const struct history_query *query,
                   int (*see)(enum event_kind kind, double time_s, void *context), void *context,
                   struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = sql_prepare_with(store,
                              "SELECT time_ms, kind FROM event WHERE guest_id = ?"
                              " AND time_ms BETWEEN ? AND ? ORDER BY time_ms, id",
                              &statement, error, guest_id, (int64_t)floor(query->from_s * 1000),
                              (int64_t)floor(query->to_s * 1000));

    while (rc == 0 && (rc = sql_step(store, statement, error)) == 1) {
        enum event_kind kind;
        double time_s;

        rc = read_event(store, statement, &kind, &time_s, error);
        if (rc == 0)
            rc = see(kind, time_s, context);
    }
    return rc;
}

int history_last_event(struct store *store, int64_t guest_id, double to_s, enum event_kind *kind,
                       double *time_s, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = sql_prepare_with(store,
                              "SELECT time_ms, kind FROM event WHERE guest_id = ? AND time_ms <= ?"
                              " AND kind IN " EVENT_RUN_KINDS " ORDER BY id DESC LIMIT 1",
                              &statement, error, guest_id, (int64_t)floor(to_s * 1000));

    if (rc == 0)
        rc = sql_step(store, statement, error);
    if (rc == 1 && (rc = read_event(store, statement, kind, time_s, error)) == 0)
        rc = 1;
    return rc;
}

int history_ended(struct store *store, int64_t guest_id, double to_s, double *ended_s,
                  struct error *error)
{
    enum event_kind kind;
    int rc = history_last_event(store, guest_id, to_s, &kind, ended_s, error);

    return rc == 1 ? kind == EVENT_END : rc;
}

int history_stalls(struct store *store, double since_s,
                   int (*see)(const char *uuid, double time_s, void *context), void *context,
                   struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    /* This query uses the index for each guest. */
    int rc = sql_prepare_with(store,
                              "SELECT g.uuid, e.time_ms FROM guest g CROSS JOIN event e"
                              " ON e.guest_id = g.id AND e.time_ms >= ? WHERE e.kind = 'stall'",
                              &statement, error, (int64_t)floor(since_s * 1000));

    while (rc == 0 && (rc = sql_step(store, statement, error)) == 1) {
        char uuid[37];
        int64_t time_ms;

        if (sql_text(statement, 0, uuid, sizeof(uuid)) < 0 || sql_i64(statement, 1, &time_ms) < 0)
            return sql_invalid(store, "an event", error);
        rc = see(uuid, (double)time_ms / 1000, context);
    }
    return rc;
}
