// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file sql.h  Statements with the project's errors, and the only way to read a column's value.
 *
 * Any user may have written the content of the file: an accessor returns a valid value or an error.
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

/** Returns the negative errno for an SQLite result code; -EUCLEAN: the file is damaged, or not a
 * database. */
int sql_errno(sqlite3 *db, int result);

/** Sets the error from SQLite's last call to @p db (NULL if it could not be opened), with the
 * file's path and the remedy; returns sql_errno(). */
int sql_error_of(sqlite3 *db, const char *path, int result, struct error *error);

/** Does the same for the history. */
int sql_error(struct store *store, int result, struct error *error);

/** Runs statements whose results are not needed. */
int sql_run(struct store *store, const char *sql, struct error *error);

/** Ends a transaction that has come to @p rc: commits it, or rolls it back after an error. Returns
 * the error, or that of the commit. */
int sql_commit(struct store *store, int rc, struct error *error);

/** Reads the first column of the first row, a whole number. */
int sql_run_i64(struct store *store, const char *sql, int64_t *value, struct error *error);

/** Calls sqlite3_prepare_v2(); the caller finalizes the statement (cleanup_statement). */
int sql_prepare(struct store *store, const char *sql, sqlite3_stmt **statement,
                struct error *error);

/** Prepares @p n statements; finalize those that were, whatever is returned. */
int sql_prepare_all(struct store *store, const char *const *sql, sqlite3_stmt **statements,
                    size_t n, struct error *error);
/** Finalizes them; a NULL among them is skipped. */
void sql_finalize_all(sqlite3_stmt **statements, size_t n);

/** As sql_prepare(), and binds whole numbers to the parameters from the first on. */
#define sql_prepare_with(store, sql, statement, error, ...)                           \
    sql_prepare_numbers(store, sql, statement, error, (const int64_t[]){__VA_ARGS__}, \
                        sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
int sql_prepare_numbers(struct store *store, const char *sql, sqlite3_stmt **statement,
                        struct error *error, const int64_t *numbers, size_t n);

/** Binds whole numbers, from parameter @p first on. */
#define sql_bind_all(statement, first, ...)                            \
    sql_bind_numbers(statement, first, (const int64_t[]){__VA_ARGS__}, \
                     sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
void sql_bind_numbers(sqlite3_stmt *statement, int first, const int64_t *numbers, size_t n);

/** Returns 1: there is a row; 0: there are no more; or a negative errno. */
int sql_step(struct store *store, sqlite3_stmt *statement, struct error *error);

/** Steps a statement that returns no row, and resets it. */
int sql_finish(struct store *store, sqlite3_stmt *statement, struct error *error);

/** Whole numbers in SQLite are signed. A larger value is bound as the largest one. */
void sql_bind_u64(sqlite3_stmt *statement, int parameter, uint64_t value);
/** The text is not copied: it must outlive the step. */
void sql_bind_text(sqlite3_stmt *statement, int parameter, const char *text);

/** Reads the column's value. Returns -EUCLEAN if it is not a whole number within 0 .. INT64_MAX. */
int sql_u64(sqlite3_stmt *statement, int column, uint64_t *value);
/** Reads a whole number of any sign. */
int sql_i64(sqlite3_stmt *statement, int column, int64_t *value);
/** Reads a finite number. */
int sql_double(sqlite3_stmt *statement, int column, double *value);
/** Reads text of fewer than @p size bytes, without a NUL in it, into @p text. */
int sql_text(sqlite3_stmt *statement, int column, char *text, size_t size);

/** Rounds a time down to whole seconds in SQLite's range; times beyond it become the largest. */
int64_t sql_whole(double seconds);
