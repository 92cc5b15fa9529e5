// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file windows.c  See history.h: lists the windows in the history. */
#include "base/cleanup.h"
#include "history/history.h"
#include "history/open_store.h"
#include "history/schema.h"
#include "history/sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LATE_S 86400

/* Ignores windows after the first RUN_MAX_WINDOWS. */
struct windows {
    double *window_s; /* ascending */
    size_t n;
};

static void insert(struct windows *windows, double window_s)
{
    size_t at = 0;

    while (at < windows->n && windows->window_s[at] < window_s)
        at++;
    if (windows->n == RUN_MAX_WINDOWS || (at < windows->n && windows->window_s[at] == window_s))
        return;
    memmove(&windows->window_s[at + 1], &windows->window_s[at],
            (windows->n - at) * sizeof(*windows->window_s));
    windows->window_s[at] = window_s;
    windows->n++;
}

/* Adds the windows of rows with the column "windows"; returns 0, or 1 if there were rows. */
static int add_rows(struct store *store, struct windows *windows, const char *sql, int64_t guest_id,
                    const int64_t span_s[2], struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    cleanup_free struct bucket *bucket = malloc(sizeof(*bucket));
    int rc = bucket
                 ? sql_prepare_with(store, sql, &statement, error, guest_id, span_s[0], span_s[1])
                 : sql_no_memory(store, error);
    int any = 0;

    while (rc == 0 && (rc = sql_step(store, statement, error)) == 1) {
        const char *text = (const char *)sqlite3_column_text(statement, 0);

        bucket_clear(bucket);
        if (!text ||
            bucket_windows_parse(bucket, text, (size_t)sqlite3_column_bytes(statement, 0), 0) < 0)
            return sql_invalid(store, "a bucket", error);
        for (size_t w = 0; w < bucket->n_windows; w++)
            insert(windows, bucket->windows[w].window_s);
        any = 1;
        rc = 0;
    }
    return rc < 0 ? rc : any;
}

#define OF_SPAN "level_s = 3600 AND start_s >= ?2 AND start_s <= ?3"

/* Reads the windows from the hosts' sums, which have those of all guests in a thousandth of the
 * size: a week of a thousand guests is too much to read twice. Only the newest hour may not be
 * added up yet. */
static int add_all(struct store *store, struct windows *windows, const int64_t span_s[2],
                   struct error *error)
{
    int rc = schema_has(store, "host_need", error);

    if (rc == 1)
        rc = add_rows(store, windows, "SELECT windows FROM host_need WHERE ?1 = 0 AND " OF_SPAN, 0,
                      span_s, error);
    if (rc < 0)
        return rc;
    return add_rows(store, windows,
                    rc == 1 ? "SELECT windows FROM bucket WHERE ?1 = 0 AND " OF_SPAN
                              " AND start_s = (SELECT max(start_s) FROM bucket WHERE"
                              " level_s = 3600 AND start_s <= ?3)"
                            : "SELECT windows FROM bucket WHERE ?1 = 0 AND " OF_SPAN,
                    0, span_s, error);
}

ssize_t history_windows_within(struct store *store, int64_t guest_id, double from_s, double to_s,
                               double window_s[RUN_MAX_WINDOWS], struct error *error)
{
    struct windows windows = {.window_s = window_s};
    const int64_t span_s[2] = {sql_whole(from_s / BUCKET_HOUR) * BUCKET_HOUR, sql_whole(to_s)};
    int rc = guest_id == 0 ? add_all(store, &windows, span_s, error)
                           : add_rows(store, &windows,
                                      "SELECT windows FROM bucket WHERE guest_id = ?1 AND " OF_SPAN,
                                      guest_id, span_s, error);

    return rc < 0 ? rc : (ssize_t)windows.n;
}

static int newest_hour(struct store *store, int64_t guest_id, int64_t *start_s, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    const char *sql =
        guest_id == 0 ? "SELECT max(start_s) FROM bucket WHERE level_s = 3600 AND ?1 = 0"
                      : "SELECT max(start_s) FROM bucket WHERE level_s = 3600 AND guest_id = ?1";
    int rc = sql_prepare_with(store, sql, &statement, error, guest_id);

    if (rc == 0)
        rc = sql_step(store, statement, error);
    if (rc != 1)
        return rc;
    if (sqlite3_column_type(statement, 0) == SQLITE_NULL)
        return 0;
    *start_s = sqlite3_column_int64(statement, 0);
    return 1;
}

ssize_t history_windows(struct store *store, int64_t guest_id, double window_s[RUN_MAX_WINDOWS],
                        struct error *error)
{
    int64_t start_s = 0;
    int rc = newest_hour(store, guest_id, &start_s, error);

    if (rc <= 0)
        return rc;
    return history_windows_within(store, guest_id, (double)start_s - LATE_S, (double)start_s,
                                  window_s, error);
}

ssize_t history_windows_text(struct store *store, char text[HISTORY_WINDOWS_TEXT],
                             struct error *error)
{
    double window_s[RUN_MAX_WINDOWS];
    size_t used = 0;
    ssize_t n = history_windows(store, 0, window_s, error);

    text[0] = '\0';
    for (ssize_t w = 0; w < n && used < HISTORY_WINDOWS_TEXT; w++)
        used += (size_t)snprintf(text + used, HISTORY_WINDOWS_TEXT - used, "%s%g", w ? ", " : "",
                                 window_s[w]);
    return n;
}
