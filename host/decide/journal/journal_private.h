// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file journal_private.h  Functions that journal.c and journal_read.c share. */
#pragma once

#include "decide/journal/journal.h"
#include "history/columns.h"
#include "history/limit.h"
#include "history/sql.h"

struct journal {
    sqlite3 *db;
    char path[512];
    struct read_limit limit; /* a reader's */
};

/** Calls sql_error_of() for the journal's file. */
int journal_failed(struct journal *journal, int result, struct error *error);

/** Calls sqlite3_prepare_v2(); the caller finalizes the statement (cleanup_statement). */
int journal_prepare(struct journal *journal, const char *sql, sqlite3_stmt **statement,
                    struct error *error);

/** Refuses a file with a view, a virtual table or a column with an expression, which reading it
 * would evaluate. The text of its tables is not compared, because earlier versions had fewer
 * columns. */
int journal_refuse_active(struct journal *journal, struct error *error);

/** Returns true if the table has that column: a journal opened for reading may be of an earlier
 * version. */
bool journal_has_column(struct journal *journal, const char *table, const char *column);

/* The homes of a row's fields: what is set as the row is added, and what is noted later. */
#define JOURNAL_ADDED HOME_SAMPLE
#define JOURNAL_LATER HOME_OWN_SET

/** Fills the table of the columns of balloons; it does not have name. */
void journal_balloon_fields(struct field fields[JOURNAL_FIELDS]);

/** A query of all columns of a table: the first two are named by @p head, and an earlier version of
 * the journal may lack others. */
struct journal_query {
    const char *head, *table, *tail;
    struct field *fields;
};
int journal_select(struct journal *journal, const struct journal_query *query,
                   sqlite3_stmt **statement, struct error *error);

/** Reads the columns of a row but for the first two. */
int journal_read_row(sqlite3_stmt *statement, const struct field *fields, void *row);
