// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file late_sqlite.c  The functions of SQLite that vmwss calls: for commands that read the
 * history, or the journal of balloons. Loading it takes a million instructions, and a measurement
 * does not need it. The daemons are linked with it.
 */
#include "base/late_library.h"

#include <sqlite3.h>
#include <stdarg.h>

static struct late_library sqlite = {.soname = "libsqlite3.so.0"};

LATE_FUNCTION(sqlite, int, sqlite3_bind_double, (sqlite3_stmt * a, int b, double c), (a, b, c))
LATE_FUNCTION(sqlite, int, sqlite3_bind_int, (sqlite3_stmt * a, int b, int c), (a, b, c))
LATE_FUNCTION(sqlite, int, sqlite3_bind_int64, (sqlite3_stmt * a, int b, sqlite3_int64 c),
              (a, b, c))
LATE_FUNCTION(sqlite, int, sqlite3_bind_null, (sqlite3_stmt * a, int b), (a, b))
LATE_FUNCTION(sqlite, int, sqlite3_bind_text,
              (sqlite3_stmt * a, int b, const char *c, int d, void (*callback4)(void *)),
              (a, b, c, d, callback4))
LATE_FUNCTION(sqlite, int, sqlite3_busy_timeout, (sqlite3 * a, int ms), (a, ms))
LATE_FUNCTION(sqlite, int, sqlite3_changes, (sqlite3 * a), (a))
LATE_FUNCTION(sqlite, int, sqlite3_close, (sqlite3 * a), (a))
LATE_FUNCTION(sqlite, int, sqlite3_column_bytes, (sqlite3_stmt * a, int iCol), (a, iCol))
LATE_FUNCTION(sqlite, int, sqlite3_column_count, (sqlite3_stmt * pStmt), (pStmt))
LATE_FUNCTION(sqlite, double, sqlite3_column_double, (sqlite3_stmt * a, int iCol), (a, iCol))
LATE_FUNCTION(sqlite, int, sqlite3_column_int, (sqlite3_stmt * a, int iCol), (a, iCol))
LATE_FUNCTION(sqlite, sqlite3_int64, sqlite3_column_int64, (sqlite3_stmt * a, int iCol), (a, iCol))
LATE_FUNCTION(sqlite, const unsigned char *, sqlite3_column_text, (sqlite3_stmt * a, int iCol),
              (a, iCol))
LATE_FUNCTION(sqlite, int, sqlite3_column_type, (sqlite3_stmt * a, int iCol), (a, iCol))
LATE_FUNCTION(sqlite, const char *, sqlite3_errmsg, (sqlite3 * a), (a))
LATE_FUNCTION(sqlite, const char *, sqlite3_errstr, (int a), (a))
LATE_FUNCTION(sqlite, int, sqlite3_exec,
              (sqlite3 * a, const char *sql, int (*callback)(void *, int, char **, char **),
               void *d, char **errmsg),
              (a, sql, callback, d, errmsg))
LATE_FUNCTION(sqlite, int, sqlite3_file_control,
              (sqlite3 * a, const char *zDbName, int op, void *d), (a, zDbName, op, d))
LATE_FUNCTION(sqlite, int, sqlite3_finalize, (sqlite3_stmt * pStmt), (pStmt))
LATE_FUNCTION(sqlite, int, sqlite3_get_autocommit, (sqlite3 * a), (a))
LATE_FUNCTION(sqlite, void, sqlite3_interrupt, (sqlite3 * a), (a))
LATE_FUNCTION(sqlite, sqlite3_int64, sqlite3_last_insert_rowid, (sqlite3 * a), (a))
LATE_FUNCTION(sqlite, int, sqlite3_limit, (sqlite3 * a, int id, int newVal), (a, id, newVal))
LATE_FUNCTION(sqlite, int, sqlite3_open_v2,
              (const char *filename, sqlite3 **ppDb, int flags, const char *zVfs),
              (filename, ppDb, flags, zVfs))
LATE_FUNCTION(sqlite, int, sqlite3_prepare_v2,
              (sqlite3 * db, const char *zSql, int nByte, sqlite3_stmt **ppStmt,
               const char **pzTail),
              (db, zSql, nByte, ppStmt, pzTail))
LATE_FUNCTION(sqlite, void, sqlite3_progress_handler,
              (sqlite3 * a, int b, int (*callback2)(void *), void *d), (a, b, callback2, d))
LATE_FUNCTION(sqlite, int, sqlite3_reset, (sqlite3_stmt * pStmt), (pStmt))
LATE_FUNCTION(sqlite, int, sqlite3_step, (sqlite3_stmt * a), (a))
LATE_FUNCTION(sqlite, int, sqlite3_system_errno, (sqlite3 * a), (a))
LATE_FUNCTION(sqlite, int, sqlite3_table_column_metadata,
              (sqlite3 * db, const char *zDbName, const char *zTableName, const char *zColumnName,
               char const **pzDataType, char const **pzCollSeq, int *pNotNull, int *pPrimaryKey,
               int *pAutoinc),
              (db, zDbName, zTableName, zColumnName, pzDataType, pzCollSeq, pNotNull, pPrimaryKey,
               pAutoinc))
LATE_FUNCTION(sqlite, int, sqlite3_total_changes, (sqlite3 * a), (a))
LATE_FUNCTION(sqlite, int, sqlite3_wal_checkpoint_v2,
              (sqlite3 * db, const char *zDb, int eMode, int *pnLog, int *pnCkpt),
              (db, zDb, eMode, pnLog, pnCkpt))
LATE_FUNCTION(sqlite, void *, sqlite3_wal_hook,
              (sqlite3 * a, int (*callback1)(void *, sqlite3 *, const char *, int), void *c),
              (a, callback1, c))

/* All operations that we use have these arguments: a switch, and NULL or a pointer for its state.
 */
__attribute__((visibility("hidden"))) int sqlite3_db_config(sqlite3 *db, int operation, ...)
{
    static _Atomic(void *) at;
    __typeof__(&sqlite3_db_config) real = late_library_find(&sqlite, __func__, &at);
    va_list arguments;

    va_start(arguments, operation);

    int on = va_arg(arguments, int);
    int *state = va_arg(arguments, int *);

    va_end(arguments);
    return real(db, operation, on, state);
}
