// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file journal.c  See journal.h. */
#include "journal/journal.h"

#include "base/bytes.h"
#include "base/fsroot.h"
#include "keep/database.h"
#include "keep/sql.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct journal {
    sqlite3 *db;
    char path[512];
};

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS balloon (uuid TEXT PRIMARY KEY, name TEXT NOT NULL,"
    " domain_id INTEGER NOT NULL, before_bytes INTEGER NOT NULL, set_bytes INTEGER NOT NULL,"
    " panic_bytes INTEGER NOT NULL, panic_s REAL NOT NULL, trouble INTEGER NOT NULL,"
    " boot_id TEXT NOT NULL DEFAULT '') STRICT;"
    "CREATE TABLE IF NOT EXISTS decision (id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " time_s REAL NOT NULL, uuid TEXT NOT NULL, name TEXT NOT NULL, mode TEXT NOT NULL,"
    " acted INTEGER NOT NULL, level TEXT NOT NULL, action TEXT NOT NULL, hold TEXT NOT NULL,"
    " target_bytes INTEGER, wish_bytes INTEGER, assigned_bytes INTEGER, actual_bytes INTEGER,"
    " resident_bytes INTEGER, wss_high_bytes INTEGER, floor_bytes INTEGER, free_bytes INTEGER,"
    " why TEXT NOT NULL, actual_5s INTEGER, actual_30s INTEGER, actual_60s INTEGER,"
    " resident_5s INTEGER, resident_30s INTEGER, resident_60s INTEGER) STRICT;"
    "CREATE TABLE IF NOT EXISTS room (id INTEGER PRIMARY KEY CHECK (id = 1),"
    " bytes INTEGER NOT NULL, until_s REAL NOT NULL) STRICT;"
    "CREATE INDEX IF NOT EXISTS decision_guest ON decision (uuid, id);"
    "CREATE INDEX IF NOT EXISTS decision_time ON decision (time_s);";

static int failed(struct journal *journal, int result, struct error *error)
{
    return sql_error_of(journal->db, journal->path, result, error);
}

static int run_sql(struct journal *journal, const char *sql, struct error *error)
{
    int result = sqlite3_exec(journal->db, sql, NULL, NULL, NULL);

    return result == SQLITE_OK ? 0 : failed(journal, result, error);
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

/* Rows of before it was kept are of no boot. */
static int add_boot_id(struct journal *journal, struct error *error)
{
    if (sqlite3_exec(journal->db, "SELECT boot_id FROM balloon LIMIT 0", NULL, NULL, NULL) ==
        SQLITE_OK)
        return 0;
    return run_sql(journal, "ALTER TABLE balloon ADD COLUMN boot_id TEXT NOT NULL DEFAULT ''",
                   error);
}

int journal_open(const char *path, struct journal **out, struct error *error)
{
    int rc = open_with(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, out, error);

    /* A reader needs no right to write, as it would to a WAL. */
    if (rc == 0)
        rc = run_sql(*out, "PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = FULL", error);
    if (rc == 0)
        rc = run_sql(*out, schema, error);
    if (rc == 0)
        rc = add_boot_id(*out, error);
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

static int prepare(struct journal *journal, const char *sql, sqlite3_stmt **statement,
                   struct error *error)
{
    int result = sqlite3_prepare_v2(journal->db, sql, -1, statement, NULL);

    return result == SQLITE_OK ? 0 : failed(journal, result, error);
}

static int finish(struct journal *journal, sqlite3_stmt *statement, struct error *error)
{
    int result = sqlite3_step(statement);

    return result == SQLITE_DONE ? 0 : failed(journal, result, error);
}

/* --- whose it is ------------------------------------------------------------------------------ */

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

bool journal_balloon_is_of(const struct journal_balloon *balloon, const char *boot_id,
                           int domain_id, uint64_t current_bytes)
{
    uint64_t off = larger(current_bytes, balloon->set_bytes) -
                   smaller(current_bytes, balloon->set_bytes);

    if (balloon->before_bytes == 0)
        return false;
    return (*boot_id && !strcmp(balloon->boot_id, boot_id) && balloon->domain_id == domain_id) ||
           off <= balloon_policy_default.still_bytes;
}

/* --- balloons --------------------------------------------------------------------------------- */

int journal_own(struct journal *journal, const struct journal_balloon *balloon, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = prepare(journal, "INSERT OR REPLACE INTO balloon VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
    return finish(journal, statement, error);
}

int journal_disown(struct journal *journal, const char *uuid, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = prepare(journal, "DELETE FROM balloon WHERE uuid = ?", &statement, error);

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
    balloon->domain_id = (int)id;
    balloon->trouble = trouble <= TROUBLE_FOREIGN ? (enum balloon_trouble)trouble : TROUBLE_NONE;
    return rc;
}

int journal_balloons(struct journal *journal,
                     int (*see)(const struct journal_balloon *balloon, void *context),
                     void *context, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = prepare(journal, "SELECT * FROM balloon ORDER BY name", &statement, error);
    int result = SQLITE_DONE;

    while (rc == 0 && (result = sqlite3_step(statement)) == SQLITE_ROW) {
        struct journal_balloon balloon = {0};

        rc = read_balloon(statement, &balloon);
        if (rc < 0)
            return error_set(error, rc, "%s: a balloon that is none", journal->path);
        rc = see(&balloon, context);
    }
    return rc == 0 && result != SQLITE_DONE ? failed(journal, result, error) : rc;
}

/* --- room ------------------------------------------------------------------------------------- */

int journal_ask_room(struct journal *journal, uint64_t bytes, double until_s, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = prepare(journal, "INSERT OR REPLACE INTO room VALUES (1, ?, ?)", &statement, error);

    if (rc < 0)
        return rc;
    sql_bind_u64(statement, 1, bytes);
    sqlite3_bind_double(statement, 2, until_s);
    return finish(journal, statement, error);
}

int journal_room(struct journal *journal, double now_s, uint64_t *bytes, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = prepare(journal, "SELECT bytes FROM room WHERE until_s > ?", &statement, error);
    int result;

    *bytes = 0;
    if (rc < 0)
        return rc;
    sqlite3_bind_double(statement, 1, now_s);
    result = sqlite3_step(statement);
    if (result == SQLITE_ROW && sql_u64(statement, 0, bytes) < 0)
        return error_set(error, -EUCLEAN, "%s: room that is none", journal->path);
    return result == SQLITE_ROW || result == SQLITE_DONE ? 0 : failed(journal, result, error);
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
    int rc = prepare(journal,
                     "INSERT INTO decision (time_s, uuid, name, mode, acted, level, action, hold,"
                     " target_bytes, wish_bytes, assigned_bytes, actual_bytes, resident_bytes,"
                     " wss_high_bytes, floor_bytes, free_bytes, why)"
                     " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
    rc = finish(journal, statement, error);
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
    int rc = prepare(journal, updates[step], &statement, error);

    if (rc < 0)
        return rc;
    if (actual_bytes != DECIDE_UNKNOWN)
        sql_bind_u64(statement, 1, actual_bytes);
    sql_bind_u64(statement, 2, resident_bytes);
    sqlite3_bind_int64(statement, 3, id);
    return finish(journal, statement, error);
}

int journal_trim(struct journal *journal, double now_s, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = prepare(journal, "DELETE FROM decision WHERE time_s < ?", &statement, error);

    if (rc < 0)
        return rc;
    sqlite3_bind_double(statement, 1, now_s - JOURNAL_KEEP_S);
    return finish(journal, statement, error);
}

/* --- reading ---------------------------------------------------------------------------------- */

#define COLUMNS                                                                                    \
    "id, time_s, uuid, name, mode, acted, level, action, hold, target_bytes, wish_bytes,"          \
    " assigned_bytes, actual_bytes, resident_bytes, wss_high_bytes, floor_bytes, free_bytes, why," \
    " actual_5s, actual_30s, actual_60s, resident_5s, resident_30s, resident_60s"

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
    return rc;
}

static int walk(struct journal *journal, sqlite3_stmt *statement,
                int (*see)(const struct journal_entry *entry, void *context), void *context,
                struct error *error)
{
    int result;
    int rc = 0;

    while (rc == 0 && (result = sqlite3_step(statement)) != SQLITE_DONE) {
        struct journal_entry entry = {0};

        if (result != SQLITE_ROW)
            return failed(journal, result, error);
        rc = read_entry(statement, &entry);
        if (rc < 0)
            return error_set(error, rc, "%s: a decision that is none", journal->path);
        rc = see(&entry, context);
    }
    return rc;
}

int journal_entries(struct journal *journal, const char *guest, unsigned n,
                    int (*see)(const struct journal_entry *entry, void *context), void *context,
                    struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = prepare(journal,
                     "SELECT * FROM (SELECT " COLUMNS " FROM decision"
                     " WHERE ?1 IS NULL OR uuid = ?1 OR name = ?1 ORDER BY id DESC LIMIT ?2)"
                     " ORDER BY id",
                     &statement, error);

    if (rc < 0)
        return rc;
    if (guest)
        sql_bind_text(statement, 1, guest);
    sqlite3_bind_int64(statement, 2, n);
    return walk(journal, statement, see, context, error);
}

int journal_latest(struct journal *journal,
                   int (*see)(const struct journal_entry *entry, void *context), void *context,
                   struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = prepare(journal,
                     "SELECT " COLUMNS " FROM decision WHERE id IN"
                     " (SELECT max(id) FROM decision GROUP BY uuid) ORDER BY name",
                     &statement, error);

    return rc < 0 ? rc : walk(journal, statement, see, context, error);
}

int journal_counts(struct journal *journal, double since_s,
                   int (*see)(const struct journal_count *count, void *context), void *context,
                   struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int result = SQLITE_DONE;
    int rc = prepare(journal,
                     "SELECT uuid, action, hold, count(*) FROM decision WHERE time_s >= ?"
                     " GROUP BY uuid, action, hold",
                     &statement, error);

    if (rc == 0)
        sqlite3_bind_double(statement, 1, since_s);
    while (rc == 0 && (result = sqlite3_step(statement)) == SQLITE_ROW) {
        struct journal_count count = {0};

        if (sql_text(statement, 0, count.uuid, sizeof(count.uuid)) < 0 ||
            sql_text(statement, 1, count.action, sizeof(count.action)) < 0 ||
            sql_text(statement, 2, count.hold, sizeof(count.hold)) < 0 ||
            sql_u64(statement, 3, &count.n) < 0)
            return error_set(error, -EUCLEAN, "%s: a decision that is none", journal->path);
        rc = see(&count, context);
    }
    return rc == 0 && result != SQLITE_DONE ? failed(journal, result, error) : rc;
}
