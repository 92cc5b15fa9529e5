// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file kept_row.h  A walk over records as they were added, each with the guest's word of it. */
#pragma once

#include "keep/sample_row.h"
#include "keep/word_row.h"

/** A statement for kept_row_next() is "SELECT " KEPT_COLUMNS, from SAMPLE_FROM and WORD_JOIN or
 * what gives the same. */
#define KEPT_COLUMNS SAMPLE_COLUMNS ", s.id, " WORD_COLUMNS

/** The next record. 1, 0 at the end, -EUCLEAN for what vmwss has not written, or what SQLite
 * says. */
int kept_row_next(struct store *store, sqlite3_stmt *statement, struct kept_sample *kept,
                  struct error *error);
