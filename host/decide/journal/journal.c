// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file journal.c  See journal.h. */
#include "decide/journal/journal_private.h"

#include "base/bytes.h"
#include "base/fsroot.h"
#include "history/database.h"

#include <errno.h>
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
    " assigned_bytes INTEGER NOT NULL DEFAULT 0) STRICT;"
    "CREATE TABLE IF NOT EXISTS decision (id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " time_s REAL NOT NULL, uuid TEXT NOT NULL, name TEXT NOT NULL, mode TEXT NOT NULL,"
    " acted INTEGER NOT NULL, level TEXT NOT NULL, action TEXT NOT NULL, hold TEXT NOT NULL,"
    " target_bytes INTEGER, wish_bytes INTEGER, assigned_bytes INTEGER, actual_bytes INTEGER,"
    " resident_bytes INTEGER, wss_high_bytes INTEGER, floor_bytes INTEGER, free_bytes INTEGER,"
    " why TEXT NOT NULL, actual_5s INTEGER, actual_30s INTEGER, actual_60s INTEGER,"
    " resident_5s INTEGER, resident_30s INTEGER, resident_60s INTEGER,"
    " panic INTEGER NOT NULL DEFAULT 0, reclaim_bytes INTEGER, reclaimed_bytes INTEGER,"
    " plug_bytes INTEGER) STRICT;"
    "CREATE TABLE IF NOT EXISTS host (id INTEGER PRIMARY KEY CHECK (id = 1),"
    " time_s REAL NOT NULL, level TEXT NOT NULL, free_bytes INTEGER NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS room (id INTEGER PRIMARY KEY CHECK (id = 1),"
    " bytes INTEGER NOT NULL, until_s REAL NOT NULL) STRICT;"
    "CREATE INDEX IF NOT EXISTS decision_guest ON decision (uuid, id);"
    "CREATE INDEX IF NOT EXISTS decision_time ON decision (time_s);";

int journal_failed(struct journal *journal, int result, struct error *error)
{
    return sql_error_of(journal->db, journal->path, result, error);
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
    return database_connect(&journal->db, path, flags | SQLITE_OPEN_NOMUTEX, error);
}

/* Adds columns to a journal from before boot IDs were kept: its rows get no boot ID, no restore
 * time and no panic. Columns come in the order of the schema, because rows are read and written by
 * column position. */
static int add_columns(struct journal *journal, struct error *error)
{
    static const struct {
        const char *table, *column, *type;
    } columns[] = {
        {"balloon", "boot_id", "TEXT NOT NULL DEFAULT ''"},
        {"balloon", "restored_s", "REAL NOT NULL DEFAULT 0"},
        {"balloon", "plug_bytes", "INTEGER NOT NULL DEFAULT 0"},
        {"balloon", "assigned_bytes", "INTEGER NOT NULL DEFAULT 0"},
        {"decision", "panic", "INTEGER NOT NULL DEFAULT 0"},
        {"decision", "reclaim_bytes", "INTEGER"},
        {"decision", "reclaimed_bytes", "INTEGER"},
        {"decision", "plug_bytes", "INTEGER"},
    };
    char sql[128];
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sizeof(columns) / sizeof(columns[0]); i++) {
        if (journal_has_column(journal, columns[i].table, columns[i].column))
            continue;
        snprintf(sql, sizeof(sql), "ALTER TABLE %s ADD COLUMN %s %s", columns[i].table,
                 columns[i].column, columns[i].type);
        rc = run_sql(journal, sql, error);
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
    struct fsroot root;

    boot_id[0] = 0;
    if (fsroot_open(&root, "/") < 0)
        return;
    if (fsroot_read(&root, boot_id, JOURNAL_BOOT_ID, "proc/sys/kernel/random/boot_id") < 0)
        boot_id[0] = 0;
    boot_id[strcspn(boot_id, "\n")] = 0;
    fsroot_close(&root);
}

static bool is_same_run(const struct journal_balloon *balloon, const struct journal_run *run)
{
    return *run->boot_id && !strcmp(balloon->boot_id, run->boot_id) &&
           balloon->domain_id == run->domain_id;
}

/* The journal has only before_bytes as the start of the move. */
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

    if (balloon->before_bytes == 0 ||
        (balloon->restored_s > 0 && now_s > balloon->restored_s + JOURNAL_RESTORE_S))
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

int journal_own(struct journal *journal, const struct journal_balloon *balloon, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = journal_prepare(
        journal, "INSERT OR REPLACE INTO balloon VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        &statement, error);

    if (rc < 0)
        return rc;
    sql_bind_text(statement, 1, balloon->uuid);
    sql_bind_text(statement, 2, balloon->name);
    sqlite3_bind_int(statement, 3, balloon->domain_id);
    sql_bind_u64(statement, 4, balloon->before_bytes);
    sql_bind_u64(statement, 5, balloon->set_bytes);
    sql_bind_u64(statement, 6, balloon->panic_bytes);
    sqlite3_bind_double(statement, 7, balloon->panic_s);
    sqlite3_bind_int(statement, 8, (int)balloon->trouble);
    sql_bind_text(statement, 9, balloon->boot_id);
    sqlite3_bind_double(statement, 10, balloon->restored_s);
    sql_bind_u64(statement, 11, balloon->plug_bytes);
    sql_bind_u64(statement, 12, balloon->assigned_bytes);
    return finish(journal, statement, error);
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

static int read_balloon(sqlite3_stmt *statement, struct journal_balloon *balloon)
{
    uint64_t trouble = 0;
    int64_t id = 0;
    int rc = sql_text(statement, 0, balloon->uuid, sizeof(balloon->uuid));

    rc = rc ? rc : sql_text(statement, 1, balloon->name, sizeof(balloon->name));
    rc = rc ? rc : sql_i64(statement, 2, &id);
    rc = rc ? rc : sql_u64(statement, 3, &balloon->before_bytes);
    rc = rc ? rc : sql_u64(statement, 4, &balloon->set_bytes);
    rc = rc ? rc : sql_u64(statement, 5, &balloon->panic_bytes);
    rc = rc ? rc : sql_double(statement, 6, &balloon->panic_s);
    rc = rc ? rc : sql_u64(statement, 7, &trouble);
    if (rc == 0 && sqlite3_column_count(statement) > 8)
        rc = sql_text(statement, 8, balloon->boot_id, sizeof(balloon->boot_id));
    if (rc == 0 && sqlite3_column_count(statement) > 9)
        rc = sql_double(statement, 9, &balloon->restored_s);
    if (rc == 0 && sqlite3_column_count(statement) > 10)
        rc = sql_u64(statement, 10, &balloon->plug_bytes);
    if (rc == 0 && sqlite3_column_count(statement) > 11)
        rc = sql_u64(statement, 11, &balloon->assigned_bytes);
    balloon->domain_id = (int)id;
    balloon->trouble = trouble <= TROUBLE_FOREIGN ? (enum balloon_trouble)trouble : TROUBLE_NONE;
    return rc;
}

int journal_balloons(struct journal *journal,
                     int (*see)(const struct journal_balloon *balloon, void *context),
                     void *context, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = journal_prepare(journal, "SELECT * FROM balloon ORDER BY name", &statement, error);
    int result = SQLITE_DONE;

    while (rc == 0 && (result = sqlite3_step(statement)) == SQLITE_ROW) {
        struct journal_balloon balloon = {0};

        rc = read_balloon(statement, &balloon);
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
    int rc = journal_prepare(journal, "INSERT OR REPLACE INTO room VALUES (1, ?, ?)", &statement,
                             error);

    if (rc < 0)
        return rc;
    sql_bind_u64(statement, 1, bytes);
    sqlite3_bind_double(statement, 2, until_s);
    return finish(journal, statement, error);
}

int journal_room(struct journal *journal, double now_s, uint64_t *bytes, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = journal_prepare(journal, "SELECT bytes FROM room WHERE until_s > ?", &statement,
                             error);
    int result;

    *bytes = 0;
    if (rc < 0)
        return rc;
    sqlite3_bind_double(statement, 1, now_s);
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

int journal_add(struct journal *journal, struct journal_entry *entry, struct error *error)
{
    const uint64_t bytes[] = {entry->target_bytes, entry->wish_bytes,     entry->assigned_bytes,
                              entry->actual_bytes, entry->resident_bytes, entry->wss_high_bytes,
                              entry->floor_bytes,  entry->free_bytes};
    const char *const texts[] = {entry->uuid,  entry->name,   entry->mode, NULL,
                                 entry->level, entry->action, entry->hold};
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = journal_prepare(
        journal,
        "INSERT INTO decision (time_s, uuid, name, mode, acted, level, action, hold,"
        " target_bytes, wish_bytes, assigned_bytes, actual_bytes, resident_bytes,"
        " wss_high_bytes, floor_bytes, free_bytes, why, panic, reclaim_bytes, plug_bytes)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        &statement, error);

    if (rc < 0)
        return rc;
    sqlite3_bind_double(statement, 1, entry->time_s);
    for (int i = 0; i < 7; i++)
        if (texts[i])
            sql_bind_text(statement, 2 + i, texts[i]);
    sqlite3_bind_int(statement, 5, entry->acted);
    for (int i = 0; i < 8; i++)
        if (bytes[i] != DECIDE_UNKNOWN)
            sql_bind_u64(statement, 9 + i, bytes[i]);
    sql_bind_text(statement, 17, entry->why);
    sqlite3_bind_int(statement, 18, entry->panic);
    if (entry->reclaim_bytes != DECIDE_UNKNOWN)
        sql_bind_u64(statement, 19, entry->reclaim_bytes);
    if (entry->plug_bytes != DECIDE_UNKNOWN)
        sql_bind_u64(statement, 20, entry->plug_bytes);
    rc = finish(journal, statement, error);
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

int journal_reclaimed(struct journal *journal, int64_t id, uint64_t bytes, struct error *error)
{
    return set_bytes(journal, "UPDATE decision SET reclaimed_bytes = ? WHERE id = ?", id, bytes,
                     error);
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
               ? run_sql(journal, "DELETE FROM balloon WHERE before_bytes = 0 AND panic_bytes = 0",
                         error)
               : rc;
}
