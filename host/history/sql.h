// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file sql.h  Statements with the project's errors, and the one way to a column's value.
 *
 * Any user may have written what stands in the file: a value is what its accessor says, or
 * an error.
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

/** The negative errno for an SQLite result code; -EUCLEAN: the file is damaged, or no database. */
int sql_errno(sqlite3 *db, int result);

/** Sets the error to what SQLite says of its last call to @p db, NULL where that was not opened,
 * with the file's path and the remedy; returns sql_errno(). */
int sql_error_of(sqlite3 *db, const char *path, int result, struct error *error);

/** Likewise for the history. */
int sql_error(struct store *store, int result, struct error *error);

/** Runs statements that return nothing of interest. */
int sql_run(struct store *store, const char *sql, struct error *error);

/** The first column of the first row, a whole number. */
int sql_run_i64(struct store *store, const char *sql, int64_t *value, struct error *error);

/** sqlite3_prepare_v2(); finalize it (cleanup_statement). */
int sql_prepare(struct store *store, const char *sql, sqlite3_stmt **statement,
                struct error *error);

/** 1: there is a row; 0: no more; negative errno. */
int sql_step(struct store *store, sqlite3_stmt *statement, struct error *error);

/** Steps a statement that returns no row, and resets it. */
int sql_finish(struct store *store, sqlite3_stmt *statement, struct error *error);

/** Whole numbers in SQLite are signed. What does not fit is bound as the largest. */
void sql_bind_u64(sqlite3_stmt *statement, int parameter, uint64_t value);
/** The text is not copied: it must outlive the step. */
void sql_bind_text(sqlite3_stmt *statement, int parameter, const char *text);

/** The column's value. -EUCLEAN when it is not a whole number within 0 .. INT64_MAX. */
int sql_u64(sqlite3_stmt *statement, int column, uint64_t *value);
/** A whole number of any sign. */
int sql_i64(sqlite3_stmt *statement, int column, int64_t *value);
/** A finite number. */
int sql_double(sqlite3_stmt *statement, int column, double *value);
/** Text of fewer than @p size bytes, without NUL among them, into @p text. */
int sql_text(sqlite3_stmt *statement, int column, char *text, size_t size);

/** A time in whole seconds, down, as SQLite can hold it: what is beyond that is as good as the
 * largest. */
int64_t sql_whole(double seconds);
