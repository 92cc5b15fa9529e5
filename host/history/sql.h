// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file sql.h  SQL statements with the project's errors, and the only accessors of column values.
 *
 * Any user may have written the content of the file, so an accessor returns a valid value or an
 * error.
 */
#pragma once

#include "base/error.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

struct store;

static inline void cleanup_statement_at(sqlite3_stmt **statement)
{
    sqlite3_finalize(*statement);
}
#define cleanup_statement __attribute__((cleanup(cleanup_statement_at)))

/** Sets the error for the last call on @p db (NULL if it could not be opened), with the file's path
 * and the remedy. Returns the negative errno for the result code; -EUCLEAN: the file is damaged, or
 * not a database. */
int sql_error_of(sqlite3 *db, const char *path, int result, struct error *error);

/** As sql_error_of(), for the history's database. */
int sql_error(struct store *store, int result, struct error *error);

/** Runs statements whose results are not needed. */
int sql_run(struct store *store, const char *sql, struct error *error);

/** Ends a transaction whose statements returned @p rc: commits it, or rolls it back after an error.
 * Returns that error, or the commit's. */
int sql_commit(struct store *store, int rc, struct error *error);

/** Reads a whole number from the first column of the first row. */
int sql_run_i64(struct store *store, const char *sql, int64_t *value, struct error *error);

/** Calls sqlite3_prepare_v2(); the caller finalizes the statement (cleanup_statement). */
int sql_prepare(struct store *store, const char *sql, sqlite3_stmt **statement,
                struct error *error);

/** Prepares @p n statements. Call sql_finalize_all() even after an error. */
int sql_prepare_all(struct store *store, const char *const *sql, sqlite3_stmt **statements,
                    size_t n, struct error *error);
/** Finalizes @p n statements; skips NULL. */
void sql_finalize_all(sqlite3_stmt **statements, size_t n);

/** As sql_prepare(); also binds whole numbers to the parameters, beginning with the first. */
#define sql_prepare_with(store, sql, statement, error, ...)                           \
    sql_prepare_numbers(store, sql, statement, error, (const int64_t[]){__VA_ARGS__}, \
                        sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
int sql_prepare_numbers(struct store *store, const char *sql, sqlite3_stmt **statement,
                        struct error *error, const int64_t *numbers, size_t n);

/** Binds whole numbers to the parameters, beginning with @p first. */
#define sql_bind_all(statement, first, ...)                            \
    sql_bind_numbers(statement, first, (const int64_t[]){__VA_ARGS__}, \
                     sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
void sql_bind_numbers(sqlite3_stmt *statement, int first, const int64_t *numbers, size_t n);

/** Returns 1: there is a row; 0: there are no more; or a negative errno. */
int sql_step(struct store *store, sqlite3_stmt *statement, struct error *error);

/** Steps a statement that returns no row, and resets it. */
int sql_finish(struct store *store, sqlite3_stmt *statement, struct error *error);

/** Binds a number. Whole numbers in SQLite are signed, so a larger value is bound as INT64_MAX. */
void sql_bind_u64(sqlite3_stmt *statement, int parameter, uint64_t value);
/** Binds a text without copying it: it must live until after the step. */
void sql_bind_text(sqlite3_stmt *statement, int parameter, const char *text);

/** Reads the column's value. Returns -EUCLEAN if it is not a whole number within 0 .. INT64_MAX. */
int sql_u64(sqlite3_stmt *statement, int column, uint64_t *value);
/** Reads a whole number of any sign. */
int sql_i64(sqlite3_stmt *statement, int column, int64_t *value);
/** Reads a finite number. */
int sql_double(sqlite3_stmt *statement, int column, double *value);
/** Reads text of fewer than @p size bytes, without a NUL in it, into @p text. */
int sql_text(sqlite3_stmt *statement, int column, char *text, size_t size);

/** Rounds a time down to whole seconds; a time outside SQLite's range becomes the nearest number in
 * it. */
int64_t sql_whole(double seconds);
