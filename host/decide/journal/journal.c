// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/journal/journal_private.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/fsroot.h"
#include "history/database.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS balloon (uuid TEXT PRIMARY KEY, name TEXT NOT NULL,"
    " domain_id INTEGER NOT NULL, before_bytes INTEGER NOT NULL, set_bytes INTEGER NOT NULL,"
    " panic_bytes INTEGER NOT NULL, panic_s REAL NOT NULL, trouble INTEGER NOT NULL,"
    " boot_id TEXT NOT NULL DEFAULT '', restored_s REAL NOT NULL DEFAULT 0,"
    " plug_bytes INTEGER NOT NULL DEFAULT 0,"
    " assigned_bytes INTEGER NOT NULL DEFAULT 0,"
    " panic_clock_s REAL NOT NULL DEFAULT 0,"
    " asked_s INTEGER NOT NULL DEFAULT 0) STRICT;"
    "CREATE TABLE IF NOT EXISTS decision (id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " time_s REAL NOT NULL, uuid TEXT NOT NULL, name TEXT NOT NULL, mode TEXT NOT NULL,"
    " acted INTEGER NOT NULL, level TEXT NOT NULL, action TEXT NOT NULL, hold TEXT NOT NULL,"
    " target_bytes INTEGER, wish_bytes INTEGER, assigned_bytes INTEGER, actual_bytes INTEGER,"
    " resident_bytes INTEGER, wss_high_bytes INTEGER, floor_bytes INTEGER, free_bytes INTEGER,"
    " why TEXT NOT NULL, actual_5s INTEGER, actual_30s INTEGER, actual_60s INTEGER,"
    " resident_5s INTEGER, resident_30s INTEGER, resident_60s INTEGER,"
    " panic INTEGER NOT NULL DEFAULT 0, reclaim_bytes INTEGER, reclaimed_bytes INTEGER,"
    " plug_bytes INTEGER, goal_bytes INTEGER, asking_bytes INTEGER) STRICT;"
    "CREATE TABLE IF NOT EXISTS host (id INTEGER PRIMARY KEY CHECK (id = 1),"
    " time_s REAL NOT NULL, level TEXT NOT NULL, free_bytes INTEGER NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS room (id INTEGER PRIMARY KEY CHECK (id = 1),"
    " bytes INTEGER NOT NULL, until_s REAL NOT NULL, boot_id TEXT NOT NULL DEFAULT '') STRICT;"
    "CREATE INDEX IF NOT EXISTS decision_guest ON decision (uuid, id);"
    "CREATE INDEX IF NOT EXISTS decision_time ON decision (time_s);";

int journal_failed(struct journal *journal, int result, struct error *error)
{
    return journal->limit.spent ? read_limit_refuse(journal->path, error)
                                : sql_error_of(journal->db, journal->path, result, error);
}

int journal_prepare(struct journal *journal, const char *sql, sqlite3_stmt **statement,
                    struct error *error)
{
    int result = sqlite3_prepare_v2(journal->db, sql, -1, statement, NULL);

    return result == SQLITE_OK ? 0 : journal_failed(journal, result, error);
}

bool journal_has_column(struct journal *journal, const char *table, const char *column)
{
    return sqlite3_table_column_metadata(journal->db, NULL, table, column, NULL, NULL, NULL, NULL,
                                         NULL) == SQLITE_OK;
}

static int run_sql(struct journal *journal, const char *sql, struct error *error)
{
    int result = sqlite3_exec(journal->db, sql, NULL, NULL, NULL);

    return result == SQLITE_OK ? 0 : journal_failed(journal, result, error);
}

static int open_with(const char *path, int flags, struct journal **out, struct error *error)
{
    struct journal *journal = calloc(1, sizeof(*journal));

    if (!journal)
        return error_set(error, -ENOMEM, "out of memory");
    strncpy(journal->path, path, sizeof(journal->path) - 1);
    *out = journal;
    return database_connect(&journal->db, path, flags | SQLITE_OPEN_NOMUTEX,
                            flags & SQLITE_OPEN_READONLY ? &journal->limit : NULL, error);
}

static int add_column(struct journal *journal, const char *table, const char *name,
                      const char *type, struct error *error)
{
    char sql[128];

    if (!name || journal_has_column(journal, table, name))
        return 0;
    snprintf(sql, sizeof(sql), "ALTER TABLE %s ADD COLUMN %s %s", table, name, type);
    return run_sql(journal, sql, error);
}

/* Columns that an earlier version of the journal did not have: its rows get no boot ID, no restore
 * time and no panic. Requests for room end by this, because their times were wall-clock times. */
#define A_TEXT "TEXT NOT NULL DEFAULT ''"
#define A_REAL "REAL NOT NULL DEFAULT 0"
#define A_COUNT "INTEGER NOT NULL DEFAULT 0"
static const char *const added_columns[][3] = {
    {"balloon", "boot_id", A_TEXT},         {"balloon", "restored_s", A_REAL},
    {"balloon", "assigned_bytes", A_COUNT}, {"balloon", "panic_clock_s", A_REAL},
    {"balloon", "asked_s", A_COUNT},        {"room", "boot_id", A_TEXT},
    {"decision", "panic", A_COUNT},         {"decision", "goal_bytes", "INTEGER"},
    {"decision", "asking_bytes", "INTEGER"}};

static int add_columns(struct journal *journal, struct error *error)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < COUNT(added_columns); i++)
        rc = add_column(journal, added_columns[i][0], added_columns[i][1], added_columns[i][2],
                        error);
    for (size_t i = 0; rc == 0 && i < N_ACTUATORS; i++) {
        const struct actuator_operations *own = actuators[i];

        rc = add_column(journal, "balloon", own->before_column, A_COUNT, error);
        rc = rc ? rc : add_column(journal, "decision", own->ordered_column.name, "INTEGER", error);
        rc = rc ? rc : add_column(journal, "decision", own->done_column.name, "INTEGER", error);
    }
    return rc;
}

int journal_open(const char *path, struct journal **out, struct error *error)
{
    int rc = open_with(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, out, error);

    /* In this mode a reader needs no write permission; with a WAL it would. */
    if (rc == 0)
        rc = run_sql(*out, "PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = FULL", error);
    if (rc == 0)
        rc = run_sql(*out, schema, error);
    if (rc == 0)
        rc = add_columns(*out, error);
    if (rc < 0) {
        journal_close(*out);
        *out = NULL;
    }
    return rc;
}

int journal_open_read(const char *path, struct journal **out, struct error *error)
{
    *out = NULL;
    if (access(path, R_OK) < 0)
        return error_set(error, -errno, "%s: %s", path,
                         errno == EACCES ? "it may be read by root and the group vmwss"
                                         : "no journal there: has vmwss-balloond run?");

    int rc = open_with(path, SQLITE_OPEN_READONLY, out, error);

    if (rc == 0)
        rc = journal_refuse_active(*out, error);
    if (rc < 0) {
        journal_close(*out);
        *out = NULL;
    }
    return rc;
}

void journal_close(struct journal *journal)
{
    if (!journal)
        return;
    sqlite3_close(journal->db);
    free(journal);
}

static int finish(struct journal *journal, sqlite3_stmt *statement, struct error *error)
{
    int result = sqlite3_step(statement);

    return result == SQLITE_DONE ? 0 : journal_failed(journal, result, error);
}

/* --- ownership -------------------------------------------------------------------------------- */

void journal_boot_id(char boot_id[JOURNAL_BOOT_ID])
{
    cleanup_root struct fsroot root;

    boot_id[0] = 0;
    if (fsroot_open(&root, "/") < 0)
        return;
    if (fsroot_read(&root, boot_id, JOURNAL_BOOT_ID, "proc/sys/kernel/random/boot_id") < 0)
        boot_id[0] = 0;
    boot_id[strcspn(boot_id, "\n")] = 0;
}

bool journal_balloon_is_of_boot(const struct journal_balloon *balloon, const char *boot_id)
{
    return *boot_id && !strcmp(balloon->boot_id, boot_id);
}

static bool is_same_run(const struct journal_balloon *balloon, const struct journal_run *run)
{
    return journal_balloon_is_of_boot(balloon, run->boot_id) &&
           balloon->domain_id == (uint64_t)run->domain_id;
}

bool journal_asks(const struct journal_balloon *balloon, const struct journal_run *run)
{
    return balloon->asked_s > 0 && (is_same_run(balloon, run) || run->saved);
}

/* The journal does not record where the balloon was when the move began: before_bytes stands for
 * it. */
static bool is_on_its_way(const struct journal_balloon *balloon, uint64_t current_bytes)
{
    return current_bytes >= smaller(balloon->set_bytes, balloon->before_bytes) &&
           current_bytes <= larger(balloon->set_bytes, balloon->before_bytes);
}

bool journal_balloon_is_of(const struct journal_balloon *balloon, const struct journal_run *run,
                           double now_s)
{
    uint64_t off = larger(run->current_bytes, balloon->set_bytes) -
                   smaller(run->current_bytes, balloon->set_bytes);

    /* A time later than now is of before the clock was set back. */
    if (balloon->before_bytes == 0 ||
        (balloon->restored_s > 0 && fabs(now_s - balloon->restored_s) > JOURNAL_RESTORE_S))
        return false;
    return is_same_run(balloon, run) || off <= balloon_policy_default.still_bytes ||
           (run->saved && is_on_its_way(balloon, run->current_bytes));
}

void journal_balloon_restored(struct journal_balloon *balloon, uint64_t bytes, double now_s)
{
    balloon->before_bytes = balloon->set_bytes = bytes;
    balloon->restored_s = now_s;
}

/* --- balloons --------------------------------------------------------------------------------- */

/* Adds a row. @p sql: the statement up to its first column, a text. */
static int insert(struct journal *journal, const char *sql, const struct field *fields,
                  const char *first, const void *row, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    struct sql_text text = {0};
    int rc;

    sql_append(&text, sql);
    columns_append(&text, fields, JOURNAL_ADDED, ", #");
    sql_append(&text, ") VALUES (?");
    columns_append(&text, fields, JOURNAL_ADDED, ", ?");
    sql_append(&text, ")");
    rc = journal_prepare(journal, text.text, &statement, error);
    if (rc < 0)
        return rc;
    sql_bind_text(statement, 1, first);
    columns_bind(statement, 2, fields, JOURNAL_ADDED, row);
    return finish(journal, statement, error);
}

/* Replaces a column that an earlier version of the journal did not have by the value that its rows
 * get. */
static void fit_field(struct journal *journal, const char *table, struct field *field)
{
    if (journal_has_column(journal, table, field->column))
        return;
    field->column = field->may_lack ? "NULL" : field->type == FIELD_TEXT ? "''" : "0";
}

int journal_select(struct journal *journal, const struct journal_query *query,
                   sqlite3_stmt **statement, struct error *error)
{
    struct sql_text text = {0};

    for (struct field *field = query->fields; field->type; field++)
        fit_field(journal, query->table, field);
    sql_append(&text, query->head);
    columns_append(&text, query->fields, JOURNAL_ADDED, ", #");
    columns_append(&text, query->fields, JOURNAL_LATER, ", #");
    sql_append(&text, query->tail);
    return journal_prepare(journal, text.text, statement, error);
}

int journal_read_row(sqlite3_stmt *statement, const struct field *fields, void *row)
{
    int next = columns_read(statement, 2, fields, JOURNAL_ADDED, row);

    next = next < 0 ? next : columns_read(statement, next, fields, JOURNAL_LATER, row);
    return next < 0 ? next : 0;
}

int journal_own(struct journal *journal, const struct journal_balloon *balloon, struct error *error)
{
    struct field fields[JOURNAL_FIELDS];

    journal_balloon_fields(fields);
    return insert(journal, "INSERT OR REPLACE INTO balloon (name", fields, balloon->name, balloon,
                  error);
}

int journal_disown(struct journal *journal, const char *uuid, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = journal_prepare(journal, "DELETE FROM balloon WHERE uuid = ?", &statement, error);

    if (rc < 0)
        return rc;
    sql_bind_text(statement, 1, uuid);
    return finish(journal, statement, error);
}

static int read_balloon(sqlite3_stmt *statement, const struct field *fields,
                        struct journal_balloon *balloon)
{
    int rc = sql_text(statement, 1, balloon->name, sizeof(balloon->name));

    rc = rc ? rc : journal_read_row(statement, fields, balloon);
    if (balloon->trouble > TROUBLE_FOREIGN)
        balloon->trouble = TROUBLE_NONE;
    return rc;
}

int journal_balloons(struct journal *journal,
                     int (*see)(const struct journal_balloon *balloon, void *context),
                     void *context, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    struct field fields[JOURNAL_FIELDS];
    const struct journal_query query = {"SELECT rowid, name", "balloon",
                                        " FROM balloon ORDER BY name", fields};
    int result = SQLITE_DONE, rc;

    journal_balloon_fields(fields);
    rc = journal_select(journal, &query, &statement, error);
    while (rc == 0 && (result = sqlite3_step(statement)) == SQLITE_ROW) {
        struct journal_balloon balloon = {0};

        rc = read_balloon(statement, fields, &balloon);
        if (rc < 0)
            return error_set(error, rc, "%s: an invalid balloon", journal->path);
        rc = see(&balloon, context);
    }
    return rc == 0 && result != SQLITE_DONE ? journal_failed(journal, result, error) : rc;
}

/* --- room ------------------------------------------------------------------------------------- */

int journal_ask_room(struct journal *journal, uint64_t bytes, double until_s, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    char boot_id[JOURNAL_BOOT_ID];
    int rc = journal_prepare(journal,
                             "INSERT OR REPLACE INTO room (id, bytes, until_s, boot_id)"
                             " VALUES (1, ?, ?, ?)",
                             &statement, error);

    if (rc < 0)
        return rc;
    journal_boot_id(boot_id);
    sql_bind_u64(statement, 1, bytes);
    sqlite3_bind_double(statement, 2, until_s);
    sql_bind_text(statement, 3, boot_id);
    return finish(journal, statement, error);
}

int journal_room(struct journal *journal, double now_s, uint64_t *bytes, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    char boot_id[JOURNAL_BOOT_ID];
    int rc = journal_prepare(journal, "SELECT bytes FROM room WHERE until_s > ? AND boot_id = ?",
                             &statement, error);
    int result;

    *bytes = 0;
    if (rc < 0)
        return rc;
    journal_boot_id(boot_id);
    sqlite3_bind_double(statement, 1, now_s);
    sql_bind_text(statement, 2, boot_id);
    result = sqlite3_step(statement);
    if (result == SQLITE_ROW && sql_u64(statement, 0, bytes) < 0)
        return error_set(error, -EUCLEAN, "%s: an invalid amount of room", journal->path);
    return result == SQLITE_ROW || result == SQLITE_DONE ? 0
                                                         : journal_failed(journal, result, error);
}

/* --- the host --------------------------------------------------------------------------------- */

int journal_note_host(struct journal *journal, const struct journal_host *host, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = journal_prepare(journal, "INSERT OR REPLACE INTO host VALUES (1, ?, ?, ?)", &statement,
                             error);

    if (rc < 0)
        return rc;
    sqlite3_bind_double(statement, 1, host->time_s);
    sql_bind_text(statement, 2, host->level);
    sql_bind_u64(statement, 3, host->free_bytes);
    return finish(journal, statement, error);
}

/* --- decisions -------------------------------------------------------------------------------- */

int journal_add(struct journal *journal, struct journal_entry *entry, struct error *error)
{
    struct field fields[JOURNAL_FIELDS];
    int rc;

    journal_decision_fields(fields);
    rc = insert(journal, "INSERT INTO decision (why", fields, entry->why, entry, error);
    if (rc == 0)
        entry->id = sqlite3_last_insert_rowid(journal->db);
    return rc;
}

int journal_after(struct journal *journal, int64_t id, unsigned step, uint64_t actual_bytes,
                  uint64_t resident_bytes, struct error *error)
{
    static const char *const updates[] = {
        "UPDATE decision SET actual_5s = ?, resident_5s = ? WHERE id = ?",
        "UPDATE decision SET actual_30s = ?, resident_30s = ? WHERE id = ?",
        "UPDATE decision SET actual_60s = ?, resident_60s = ? WHERE id = ?",
    };
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = journal_prepare(journal, updates[step], &statement, error);

    if (rc < 0)
        return rc;
    if (actual_bytes != DECIDE_UNKNOWN)
        sql_bind_u64(statement, 1, actual_bytes);
    sql_bind_u64(statement, 2, resident_bytes);
    sqlite3_bind_int64(statement, 3, id);
    return finish(journal, statement, error);
}

static int set_bytes(struct journal *journal, const char *sql, int64_t id, uint64_t bytes,
                     struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = journal_prepare(journal, sql, &statement, error);

    if (rc < 0)
        return rc;
    sql_bind_u64(statement, 1, bytes);
    sqlite3_bind_int64(statement, 2, id);
    return finish(journal, statement, error);
}

int journal_amend(struct journal *journal, int64_t id, uint64_t target_bytes, struct error *error)
{
    return set_bytes(journal, "UPDATE decision SET target_bytes = ? WHERE id = ?", id, target_bytes,
                     error);
}

int journal_done(struct journal *journal, int64_t id, enum actuator_number actuator, uint64_t bytes,
                 struct error *error)
{
    char sql[96];

    snprintf(sql, sizeof(sql), "UPDATE decision SET %s = ? WHERE id = ?",
             actuators[actuator]->done_column.name);
    return set_bytes(journal, sql, id, bytes, error);
}

int journal_withdrawn(struct journal *journal, int64_t id, struct error *error)
{
    return set_bytes(journal, "UPDATE decision SET acted = ? WHERE id = ?", id, 0, error);
}

static int run_at(struct journal *journal, const char *sql, double time_s, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = journal_prepare(journal, sql, &statement, error);

    if (rc < 0)
        return rc;
    sqlite3_bind_double(statement, 1, time_s);
    return finish(journal, statement, error);
}

int journal_trim(struct journal *journal, double now_s, struct error *error)
{
    double restored_s = now_s - JOURNAL_RESTORE_S;
    int rc = run_at(journal, "DELETE FROM decision WHERE time_s < ?", now_s - JOURNAL_KEEP_S,
                    error);

    if (rc == 0)
        rc = run_at(journal,
                    "UPDATE balloon SET before_bytes = 0, restored_s = 0"
                    " WHERE restored_s > 0 AND restored_s < ?",
                    restored_s, error);
    return rc == 0
               ? run_sql(
                     journal,
                     "DELETE FROM balloon WHERE before_bytes = 0 AND panic_bytes = 0 AND asked_s = 0",
                     error)
               : rc;
}
