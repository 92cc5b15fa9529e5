// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file kept_row.c  See kept_row.h. */
#include "keep/kept_row.h"

#include "keep/sql.h"
#include "keep/store_private.h"

#include <errno.h>

int kept_row_next(struct store *store, sqlite3_stmt *statement, struct kept_sample *kept,
                  struct error *error)
{
    int rc = sql_step(store, statement, error);

    if (rc != 1)
        return rc;
    if (sample_row_read(statement, kept) < 0 ||
        sql_i64(statement, SAMPLE_N_COLUMNS, &kept->id) < 0 ||
        word_row_read(statement, SAMPLE_N_COLUMNS + 1, &kept->record.sample.guest) < 0)
        return error_set(error, -EUCLEAN, "%s: a record that vmwss has not written", store->path);
    return 1;
}
