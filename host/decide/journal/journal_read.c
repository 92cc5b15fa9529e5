// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file journal_read.c  Reads decisions; see journal.h. */
#include "decide/journal/journal_private.h"

#include <errno.h>
#include <stdio.h>

#define COLUMNS                                                                                    \
    "id, time_s, uuid, name, mode, acted, level, action, hold, target_bytes, wish_bytes,"          \
    " assigned_bytes, actual_bytes, resident_bytes, wss_high_bytes, floor_bytes, free_bytes, why," \
    " actual_5s, actual_30s, actual_60s, resident_5s, resident_30s, resident_60s, "

/* The columns that an earlier version did not write yet. */
static const char *later_columns(struct journal *journal)
{
    if (journal_has_column(journal, "decision", "plug_bytes"))
        return "reclaim_bytes, reclaimed_bytes, plug_bytes";
    return journal_has_column(journal, "decision", "reclaimed_bytes")
               ? "reclaim_bytes, reclaimed_bytes, NULL AS plug_bytes"
               : "NULL AS reclaim_bytes, NULL AS reclaimed_bytes, NULL AS plug_bytes";
}

static int read_bytes(sqlite3_stmt *statement, int column, uint64_t *bytes)
{
    *bytes = DECIDE_UNKNOWN;
    return sqlite3_column_type(statement, column) == SQLITE_NULL
               ? 0
               : sql_u64(statement, column, bytes);
}

static int read_entry(sqlite3_stmt *statement, struct journal_entry *entry)
{
    struct {
        char *text;
        size_t size;
    } const texts[] = {{entry->uuid, sizeof(entry->uuid)},   {entry->name, sizeof(entry->name)},
                       {entry->mode, sizeof(entry->mode)},   {NULL, 0},
                       {entry->level, sizeof(entry->level)}, {entry->action, sizeof(entry->action)},
                       {entry->hold, sizeof(entry->hold)}};
    uint64_t *const bytes[] = {&entry->target_bytes, &entry->wish_bytes,     &entry->assigned_bytes,
                               &entry->actual_bytes, &entry->resident_bytes, &entry->wss_high_bytes,
                               &entry->floor_bytes,  &entry->free_bytes};
    int rc = sql_i64(statement, 0, &entry->id);

    rc = rc ? rc : sql_double(statement, 1, &entry->time_s);
    for (int i = 0; rc == 0 && i < 7; i++)
        if (texts[i].text)
            rc = sql_text(statement, 2 + i, texts[i].text, texts[i].size);
    entry->acted = sqlite3_column_int(statement, 5) != 0;
    for (int i = 0; rc == 0 && i < 8; i++)
        rc = read_bytes(statement, 9 + i, bytes[i]);
    rc = rc ? rc : sql_text(statement, 17, entry->why, sizeof(entry->why));
    for (int i = 0; rc == 0 && i < 3; i++) {
        rc = read_bytes(statement, 18 + i, &entry->after_actual_bytes[i]);
        rc = rc ? rc : read_bytes(statement, 21 + i, &entry->after_resident_bytes[i]);
    }
    rc = rc ? rc : read_bytes(statement, 24, &entry->reclaim_bytes);
    rc = rc ? rc : read_bytes(statement, 25, &entry->reclaimed_bytes);
    return rc ? rc : read_bytes(statement, 26, &entry->plug_bytes);
}

/* @p format has a place for the later columns. */
static int prepare_decisions(struct journal *journal, const char *format, sqlite3_stmt **statement,
                             struct error *error)
{
    char sql[1024];

    snprintf(sql, sizeof(sql), format, later_columns(journal));
    return journal_prepare(journal, sql, statement, error);
}

static int walk_entries(struct journal *journal, sqlite3_stmt *statement,
                        int (*see)(const struct journal_entry *entry, void *context), void *context,
                        struct error *error)
{
    int result;
    int rc = 0;

    while (rc == 0 && (result = sqlite3_step(statement)) != SQLITE_DONE) {
        struct journal_entry entry = {0};

        if (result != SQLITE_ROW)
            return journal_failed(journal, result, error);
        rc = read_entry(statement, &entry);
        if (rc < 0)
            return error_set(error, rc, "%s: a row that is not a valid decision", journal->path);
        rc = see(&entry, context);
    }
    return rc;
}

int journal_entries(struct journal *journal, const char *guest, unsigned n,
                    int (*see)(const struct journal_entry *entry, void *context), void *context,
                    struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = prepare_decisions(journal,
                               "SELECT * FROM (SELECT " COLUMNS "%s FROM decision"
                               " WHERE ?1 IS NULL OR uuid = ?1 OR name = ?1 ORDER BY id DESC"
                               " LIMIT ?2) ORDER BY id",
                               &statement, error);

    if (rc < 0)
        return rc;
    if (guest)
        sql_bind_text(statement, 1, guest);
    sqlite3_bind_int64(statement, 2, n);
    return walk_entries(journal, statement, see, context, error);
}

int journal_latest(struct journal *journal,
                   int (*see)(const struct journal_entry *entry, void *context), void *context,
                   struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = prepare_decisions(journal,
                               "SELECT " COLUMNS "%s FROM decision WHERE id IN"
                               " (SELECT max(id) FROM decision GROUP BY uuid) ORDER BY name",
                               &statement, error);

    return rc < 0 ? rc : walk_entries(journal, statement, see, context, error);
}

#define COUNTED " FROM decision WHERE time_s >= ? GROUP BY uuid, action, hold"

int journal_counts(struct journal *journal, double since_s,
                   int (*see)(const struct journal_count *count, void *context), void *context,
                   struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int result = SQLITE_DONE;
    int rc = journal_prepare(journal,
                             journal_has_column(journal, "decision", "panic")
                                 ? "SELECT uuid, action, hold, count(*), sum(panic)" COUNTED
                                 : "SELECT uuid, action, hold, count(*), 0" COUNTED,
                             &statement, error);

    if (rc == 0)
        sqlite3_bind_double(statement, 1, since_s);
    while (rc == 0 && (result = sqlite3_step(statement)) == SQLITE_ROW) {
        struct journal_count count = {0};

        if (sql_text(statement, 0, count.uuid, sizeof(count.uuid)) < 0 ||
            sql_text(statement, 1, count.action, sizeof(count.action)) < 0 ||
            sql_text(statement, 2, count.hold, sizeof(count.hold)) < 0 ||
            sql_u64(statement, 3, &count.n) < 0 || sql_u64(statement, 4, &count.panics) < 0)
            return error_set(error, -EUCLEAN, "%s: a row that is not a valid decision",
                             journal->path);
        rc = see(&count, context);
    }
    return rc == 0 && result != SQLITE_DONE ? journal_failed(journal, result, error) : rc;
}
