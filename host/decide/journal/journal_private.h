// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file journal_private.h  What journal.c and journal_read.c share. */
#pragma once

#include "decide/journal/journal.h"
#include "history/sql.h"

struct journal {
    sqlite3 *db;
    char path[512];
};

/** sql_error_of() its file. */
int journal_failed(struct journal *journal, int result, struct error *error);

/** sqlite3_prepare_v2(); finalize it (cleanup_statement). */
int journal_prepare(struct journal *journal, const char *sql, sqlite3_stmt **statement,
                    struct error *error);

/** A journal that is only read may be of an earlier version. */
bool journal_has_column(struct journal *journal, const char *table, const char *column);
