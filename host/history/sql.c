// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/sql.h"

#include "history/open_store.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Returns the system's error of a failed open or transfer, if SQLite recorded it. */
static int system_errno(sqlite3 *db, int otherwise)
{
    int number = db ? sqlite3_system_errno(db) : 0;

    return number > 0 ? -number : otherwise;
}

static int errno_of(sqlite3 *db, int result)
{
    switch (result & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return 0;
    case SQLITE_INTERRUPT:
        return -ECANCELED;
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL: /* a process holds locks of the WAL's index for too long:
                             walTryBeginRead() */
        return -EBUSY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return -EUCLEAN;
    case SQLITE_READONLY:
        return -EROFS;
    case SQLITE_NOMEM:
        return -ENOMEM;
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return -EACCES;
    case SQLITE_CANTOPEN:
        return system_errno(db, -ENOENT);
    default:
        return system_errno(db, -EIO);
    }
}

static const char *remedy(int code)
{
    switch (code) {
    case -ENOSPC:
        return ": make room on its file system";
    case -EUCLEAN:
        return ": it is damaged; vmwssd sets a damaged history aside when it starts or writes to it";
    case -EBUSY:
        return ": another process holds it; end what has it open for writing";
    default:
        return "";
    }
}

int sql_error_of(sqlite3 *db, const char *path, int result, struct error *error)
{
    int rc = errno_of(db, result);
    const char *message = db ? sqlite3_errmsg(db) : sqlite3_errstr(result);

    if ((result & 0xff) == SQLITE_IOERR || (result & 0xff) == SQLITE_CANTOPEN)
        return error_set(error, rc, "%s: %s (%s)", path, message, strerror(-rc));
    return error_set(error, rc, "%s: %s%s", path, message, remedy(rc));
}

int sql_error(struct store *store, int result, struct error *error)
{
    return store->limit.spent ? read_limit_refuse(store->path, error)
                              : sql_error_of(store->db, store->path, result, error);
}

int sql_run(struct store *store, const char *sql, struct error *error)
{
    int result = sqlite3_exec(store->db, sql, NULL, NULL, NULL);

    return result == SQLITE_OK ? 0 : sql_error(store, result, error);
}

int sql_commit(struct store *store, int rc, struct error *error)
{
    if (rc == 0)
        rc = sql_run(store, "COMMIT", error);
    /* SQLite has already rolled back after some errors */
    if (rc < 0 && !sqlite3_get_autocommit(store->db))
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}

int sql_run_i64(struct store *store, const char *sql, int64_t *value, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = sql_prepare(store, sql, &statement, error);

    if (rc == 0)
        rc = sql_step(store, statement, error);
    if (rc < 0)
        return rc;
    if (rc == 0 || sql_i64(statement, 0, value) < 0)
        return error_set(error, -EUCLEAN, "%s: no number for %s", store->path, sql);
    return 0;
}

int sql_prepare(struct store *store, const char *sql, sqlite3_stmt **statement, struct error *error)
{
    int result = sqlite3_prepare_v2(store->db, sql, -1, statement, NULL);

    return result == SQLITE_OK ? 0 : sql_error(store, result, error);
}

int sql_prepare_all(struct store *store, const char *const *sql, sqlite3_stmt **statements,
                    size_t n, struct error *error)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = sql_prepare(store, sql[i], &statements[i], error);
    return rc;
}

void sql_finalize_all(sqlite3_stmt **statements, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sqlite3_finalize(statements[i]);
}

int sql_prepare_numbers(struct store *store, const char *sql, sqlite3_stmt **statement,
                        struct error *error, const int64_t *numbers, size_t n)
{
    int rc = sql_prepare(store, sql, statement, error);

    if (rc == 0)
        sql_bind_numbers(*statement, 1, numbers, n);
    return rc;
}

void sql_bind_numbers(sqlite3_stmt *statement, int first, const int64_t *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sqlite3_bind_int64(statement, first + (int)i, numbers[i]);
}

int sql_step(struct store *store, sqlite3_stmt *statement, struct error *error)
{
    int result = sqlite3_step(statement);

    if (result == SQLITE_ROW)
        return 1;
    return result == SQLITE_DONE ? 0 : sql_error(store, result, error);
}

int sql_finish(struct store *store, sqlite3_stmt *statement, struct error *error)
{
    int rc = sql_step(store, statement, error);

    sqlite3_reset(statement);
    return rc < 0 ? rc : 0;
}

void sql_bind_u64(sqlite3_stmt *statement, int parameter, uint64_t value)
{
    sqlite3_bind_int64(statement, parameter, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

void sql_bind_text(sqlite3_stmt *statement, int parameter, const char *text)
{
    sqlite3_bind_text(statement, parameter, text, -1, SQLITE_STATIC);
}

int sql_i64(sqlite3_stmt *statement, int column, int64_t *value)
{
    if (sqlite3_column_type(statement, column) != SQLITE_INTEGER)
        return -EUCLEAN;
    *value = sqlite3_column_int64(statement, column);
    return 0;
}

int sql_u64(sqlite3_stmt *statement, int column, uint64_t *value)
{
    int64_t number;

    if (sql_i64(statement, column, &number) < 0 || number < 0)
        return -EUCLEAN;
    *value = (uint64_t)number;
    return 0;
}

int sql_double(sqlite3_stmt *statement, int column, double *value)
{
    int type = sqlite3_column_type(statement, column);

    if (type != SQLITE_FLOAT && type != SQLITE_INTEGER)
        return -EUCLEAN;
    *value = sqlite3_column_double(statement, column);
    return isfinite(*value) ? 0 : -EUCLEAN;
}

int sql_text(sqlite3_stmt *statement, int column, char *text, size_t size)
{
    if (sqlite3_column_type(statement, column) != SQLITE_TEXT)
        return -EUCLEAN;

    const unsigned char *bytes = sqlite3_column_text(statement, column);
    size_t n = (size_t)sqlite3_column_bytes(statement, column);

    if (!bytes || n >= size || memchr(bytes, '\0', n))
        return -EUCLEAN;
    memcpy(text, bytes, n);
    text[n] = '\0';
    return 0;
}

int64_t sql_whole(double seconds)
{
    return (int64_t)fmin(fmax(floor(seconds), -9e15), 9e15);
}
