// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/bucket_beside.h"

#include "history/bucket_row.h"
#include "history/open_store.h"
#include "history/sql.h"

#include <stdlib.h>

static const char before_sql[] = " WHERE guest_id = ? AND level_s = 60 AND start_s <= ?"
                                 " ORDER BY start_s DESC LIMIT 1";
static const char after_sql[] = " WHERE guest_id = ? AND level_s = 60 AND start_s > ?"
                                " ORDER BY start_s LIMIT 1";

int bucket_beside_begin(struct bucket_beside *beside, struct store *store, bool after,
                        struct error *error)
{
    *beside = (struct bucket_beside){.store = store, .bucket = malloc(sizeof(*beside->bucket))};
    if (!beside->bucket)
        return sql_no_memory(store, error);
    return bucket_row_prepare(store, "start_s, ", after ? after_sql : before_sql,
                              &beside->statement, error);
}

void bucket_beside_end(struct bucket_beside *beside)
{
    sqlite3_finalize(beside->statement);
    free(beside->bucket);
}

int bucket_beside_read(struct bucket_beside *beside, int64_t guest_id, int64_t time_s,
                       double window_s, struct error *error)
{
    int rc;

    sql_bind_all(beside->statement, 1, guest_id, time_s);
    rc = sql_step(beside->store, beside->statement, error);
    beside->unreadable = rc == 1 &&
                         (sql_i64(beside->statement, 0, &beside->start_s) < 0 ||
                          bucket_row_read(beside->statement, 1, beside->bucket, window_s) < 0);
    if (beside->unreadable)
        rc = sql_invalid(beside->store, "a bucket", error);
    sqlite3_reset(beside->statement);
    return rc;
}
