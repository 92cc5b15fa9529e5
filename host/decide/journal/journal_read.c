// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file journal_read.c  Reads the host's row and decisions; see journal.h. */
#include "decide/journal/journal_private.h"

#include "base/array.h"

#include <errno.h>

int journal_refuse_active(struct journal *journal, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = journal_prepare(journal,
                             "SELECT 1 FROM pragma_table_list l, pragma_table_xinfo(l.name) c "
                             "WHERE l.schema = 'main' AND (l.type <> 'table' OR c.hidden <> 0)",
                             &statement, error);
    int result = rc < 0 ? SQLITE_DONE : sqlite3_step(statement);

    if (result == SQLITE_ROW)
        return error_set(error, -EUCLEAN, "%s: its tables are not as vmwss-balloond makes them",
                         journal->path);
    return result == SQLITE_DONE ? rc : journal_failed(journal, result, error);
}

/* --- the host --------------------------------------------------------------------------------- */

static int read_host(sqlite3_stmt *statement, struct journal_host *host)
{
    int rc = sql_double(statement, 0, &host->time_s);

    rc = rc ? rc : sql_text(statement, 1, host->level, sizeof(host->level));
    return rc ? rc : sql_u64(statement, 2, &host->free_bytes);
}

int journal_host(struct journal *journal, struct journal_host *host, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int result, rc;

    *host = (struct journal_host){0};
    if (!journal_has_column(journal, "host", "level")) /* an older version */
        return 0;
    rc = journal_prepare(journal, "SELECT time_s, level, free_bytes FROM host", &statement, error);
    if (rc < 0)
        return rc;
    result = sqlite3_step(statement);
    if (result == SQLITE_ROW && read_host(statement, host) < 0)
        return error_set(error, -EUCLEAN, "%s: an invalid host", journal->path);
    return result == SQLITE_ROW || result == SQLITE_DONE ? 0
                                                         : journal_failed(journal, result, error);
}

/* --- decisions -------------------------------------------------------------------------------- */

/* The entries requested, and the function that takes them. */
struct walk {
    const char *head, *tail; /* tail may have ?1, the guest, and ?2, the number of entries */
    const char *guest;
    unsigned n;
    int (*see)(const struct journal_entry *entry, void *context);
    void *context;
};

static int read_entry(sqlite3_stmt *statement, const struct field *fields,
                      struct journal_entry *entry)
{
    int rc = sql_i64(statement, 0, &entry->id);

    rc = rc ? rc : sql_text(statement, 1, entry->why, sizeof(entry->why));
    return rc ? rc : journal_read_row(statement, fields, entry);
}

static int walk_entries(struct journal *journal, const struct walk *walk, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    struct field fields[JOURNAL_FIELDS];
    const struct journal_query query = {walk->head, "decision", walk->tail, fields};
    int result, rc;

    journal_decision_fields(fields);
    rc = journal_select(journal, &query, &statement, error);
    if (rc == 0 && walk->guest)
        sql_bind_text(statement, 1, walk->guest);
    if (rc == 0)
        sqlite3_bind_int64(statement, 2, walk->n);
    while (rc == 0 && (result = sqlite3_step(statement)) != SQLITE_DONE) {
        struct journal_entry entry = {0};

        if (result != SQLITE_ROW)
            return journal_failed(journal, result, error);
        rc = read_entry(statement, fields, &entry);
        if (rc < 0)
            return error_set(error, rc, "%s: a row that is not a valid decision", journal->path);
        rc = walk->see(&entry, walk->context);
    }
    return rc;
}

int journal_entries(struct journal *journal, const char *guest, unsigned n,
                    int (*see)(const struct journal_entry *entry, void *context), void *context,
                    struct error *error)
{
    const struct walk walk = {
        .head = "SELECT * FROM (SELECT id, why",
        .tail = " FROM decision WHERE ?1 IS NULL OR uuid = ?1 OR name = ?1 ORDER BY id DESC"
                " LIMIT ?2) ORDER BY id",
        .guest = guest,
        .n = n,
        .see = see,
        .context = context};

    return walk_entries(journal, &walk, error);
}

int journal_latest(struct journal *journal,
                   int (*see)(const struct journal_entry *entry, void *context), void *context,
                   struct error *error)
{
    const struct walk walk = {
        .head = "SELECT id, why",
        .tail = " FROM decision WHERE id IN (SELECT max(id) FROM decision GROUP BY uuid)"
                " ORDER BY name",
        .see = see,
        .context = context};

    return walk_entries(journal, &walk, error);
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

/* --- sums ------------------------------------------------------------------------------------- */

/* A row holds until the guest's next one. The largest size is that of all rows: at the beginning of
 * the span the guest may have been shrunk already. */
static const char sums[] =
    "WITH held AS (SELECT uuid, time_s, acted, action, hold, level, panic, target_bytes, goal_bytes,"
    " assigned_bytes, actual_bytes, lead(time_s) OVER guest AS end_s,"
    " max(actual_bytes) OVER (PARTITION BY uuid) AS top_bytes,"
    " max(acted) OVER (PARTITION BY uuid) AS ours FROM decision"
    " WINDOW guest AS (PARTITION BY uuid ORDER BY id)),"
    " rated AS (SELECT *, max(end_s - max(time_s, ?1), 0) AS lasts_s,"
    " CASE WHEN ours THEN max(min(top_bytes, assigned_bytes)"
    " - CASE WHEN acted THEN target_bytes ELSE actual_bytes END, 0) ELSE 0 END AS taken,"
    " CASE WHEN NOT ours AND hold IN ('none', 'waiting', 'pause')"
    " THEN max(actual_bytes - coalesce(goal_bytes, target_bytes), 0) ELSE 0 END AS would,"
    " level IN ('soft', 'hard', 'low') AS short FROM held)"
    " SELECT uuid, sum(time_s >= ?1), sum(time_s >= ?1 AND acted),"
    " sum(time_s >= ?1 AND action IN ('shrink', 'reclaim')),"
    " sum(time_s >= ?1 AND action IN ('grow', 'full', 'restore')), sum(time_s >= ?1 AND panic),"
    " total(lasts_s * taken), total(lasts_s * would), total(lasts_s * short),"
    " total(CASE WHEN end_s IS NULL THEN time_s END), total(CASE WHEN end_s IS NULL THEN taken END),"
    " total(CASE WHEN end_s IS NULL THEN would END),"
    " total(CASE WHEN end_s IS NULL THEN short END) FROM rated GROUP BY uuid";

static int read_sum(sqlite3_stmt *statement, struct journal_sum *sum)
{
    uint64_t *const counts[] = {&sum->decisions, &sum->acted, &sum->shrinks, &sum->grows,
                                &sum->shortages};
    double *const reals[] = {&sum->taken_byte_s,   &sum->would_byte_s,     &sum->host_short_s,
                             &sum->last_s,         &sum->last_taken_bytes, &sum->last_would_bytes,
                             &sum->last_host_short};
    int column = 0;
    int rc = sql_text(statement, column++, sum->uuid, sizeof(sum->uuid));

    for (size_t i = 0; rc == 0 && i < COUNT(counts); i++)
        rc = sql_u64(statement, column++, counts[i]);
    for (size_t i = 0; rc == 0 && i < COUNT(reals); i++)
        *reals[i] = sqlite3_column_double(statement, column++);
    return rc;
}

int journal_sums(struct journal *journal, double since_s,
                 int (*see)(const struct journal_sum *sum, void *context), void *context,
                 struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int result = SQLITE_DONE;
    int rc = journal_prepare(journal, sums, &statement, error);

    if (rc == 0)
        sqlite3_bind_double(statement, 1, since_s);
    while (rc == 0 && (result = sqlite3_step(statement)) == SQLITE_ROW) {
        struct journal_sum sum = {0};

        if (read_sum(statement, &sum) < 0)
            return error_set(error, -EUCLEAN, "%s: a row that is not a valid decision",
                             journal->path);
        rc = see(&sum, context);
    }
    return rc == 0 && result != SQLITE_DONE ? journal_failed(journal, result, error) : rc;
}
