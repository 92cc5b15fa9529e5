// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file kept_row.h  A walk over records as they were added, each with the guest's statistics. */
#pragma once

#include "base/error.h"
#include "history/bucket.h"

#include <sqlite3.h>

struct store;

/** The tables of a record, the guest's own as g, its sample as s. */
#define KEPT_FROM " FROM guest g JOIN sample s ON s.guest_id = g.id" KEPT_JOIN
#define KEPT_JOIN \
    " LEFT JOIN word w ON w.sample_id = s.id LEFT JOIN own_set o ON o.sample_id = s.id"

/**
 * Prepares a statement for kept_row_next().
 * @param more  ", " and further columns after a record's, or ""
 * @param from  KEPT_FROM, or what gives the same, and what follows it
 */
int kept_row_prepare(struct store *store, const char *more, const char *from,
                     sqlite3_stmt **statement, struct error *error);

/** The next record. 1, 0 at the end, -EUCLEAN for what vmwss has not written, or what SQLite
 * says. */
int kept_row_next(struct store *store, sqlite3_stmt *statement, struct kept_sample *kept,
                  struct error *error);

/** The record in the row that the statement has reached. -EUCLEAN */
int kept_row_read(sqlite3_stmt *statement, struct kept_sample *kept);
