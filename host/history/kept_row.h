// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file kept_row.h  Walks records in the order in which they were added, each with the guest's
 * statistics. */
#pragma once

#include "base/error.h"
#include "history/bucket.h"

#include <sqlite3.h>

struct store;

/** The tables of a record, with the guest as g and its sample as s. */
#define KEPT_FROM " FROM guest g JOIN sample s ON s.guest_id = g.id" KEPT_JOIN
#define KEPT_JOIN \
    " LEFT JOIN word w ON w.sample_id = s.id LEFT JOIN own_set o ON o.sample_id = s.id"

/**
 * Prepares a statement for kept_row_next().
 * @param more  ", " and further columns after a record's, or ""
 * @param from  KEPT_FROM or an equivalent, followed by the rest of the statement
 */
int kept_row_prepare(struct store *store, const char *more, const char *from,
                     sqlite3_stmt **statement, struct error *error);

/** Reads the next record. Returns 1, 0 at the end, -EUCLEAN for a row that vmwss has not written,
 * or SQLite's error. */
int kept_row_next(struct store *store, sqlite3_stmt *statement, struct kept_sample *kept,
                  struct error *error);

/** Reads the record in the current row of the statement. Returns -EUCLEAN for an invalid row. */
int kept_row_read(sqlite3_stmt *statement, struct kept_sample *kept);
