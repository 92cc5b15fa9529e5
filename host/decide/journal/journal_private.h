// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file journal_private.h  Functions that journal.c and journal_read.c share. */
#pragma once

#include "decide/journal/journal.h"
#include "history/sql.h"

struct journal {
    sqlite3 *db;
    char path[512];
};

/** Calls sql_error_of() for the journal's file. */
int journal_failed(struct journal *journal, int result, struct error *error);

/** Calls sqlite3_prepare_v2(); the caller finalizes the statement (cleanup_statement). */
int journal_prepare(struct journal *journal, const char *sql, sqlite3_stmt **statement,
                    struct error *error);

/** Returns true if the table has that column: a journal opened for reading may be of an earlier
 * version. */
bool journal_has_column(struct journal *journal, const char *table, const char *column);
