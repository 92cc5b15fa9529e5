// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/rollup.h"

#include "base/cleanup.h"
#include "history/bucket_row.h"
#include "history/open_store.h"
#include "history/sql.h"

int rollup_begin(struct rollup *rollup, struct store *store, struct error *error)
{
    int rc;

    *rollup = (struct rollup){.store = store, .bucket = malloc(sizeof(*rollup->bucket))};
    if (!rollup->bucket)
        return sql_no_memory(store, error);
    rc = bucket_row_prepare(store, "", " WHERE level_s = ? AND start_s = ? AND guest_id = ?",
                            &rollup->read, error);
    return rc == 0 ? bucket_row_prepare_write(store, &rollup->write, error) : rc;
}

void rollup_end(struct rollup *rollup)
{
    sqlite3_finalize(rollup->read);
    sqlite3_finalize(rollup->write);
    free(rollup->bucket);
}

int64_t bucket_start(int64_t time_s, int level_s)
{
    int64_t rest = time_s % level_s;

    return time_s - (rest < 0 ? rest + level_s : rest);
}

static void bind_key(sqlite3_stmt *statement, int first, int level_s, int64_t start_s, int64_t id)
{
    sqlite3_bind_int(statement, first, level_s);
    sqlite3_bind_int64(statement, first + 1, start_s);
    sqlite3_bind_int64(statement, first + 2, id);
}

static int read_bucket(struct rollup *rollup, struct error *error)
{
    int rc = sql_step(rollup->store, rollup->read, error);

    if (rc <= 0 || bucket_row_read(rollup->read, 0, rollup->bucket, 0) < 0)
        bucket_clear(rollup->bucket);
    sqlite3_reset(rollup->read);
    return rc < 0 ? rc : 0;
}

static int add_to(struct rollup *rollup, int level_s, int64_t id, const struct kept_sample *kept,
                  struct error *error)
{
    int64_t start_s = bucket_start(kept->record.sample.time.tv_sec, level_s);
    int rc;

    bind_key(rollup->read, 1, level_s, start_s, id);
    rc = read_bucket(rollup, error);
    if (rc < 0)
        return rc;
    bucket_add(rollup->bucket, kept);

    cleanup_free char *windows = bucket_windows_text(rollup->bucket);

    if (!windows)
        return sql_no_memory(rollup->store, error);
    bind_key(rollup->write, bucket_row_bind(rollup->write, rollup->bucket, windows), level_s,
             start_s, id);
    return sql_finish(rollup->store, rollup->write, error);
}

int rollup_add(struct rollup *rollup, int64_t id, const struct kept_sample *kept,
               struct error *error)
{
    int rc = add_to(rollup, BUCKET_MINUTE, id, kept, error);

    return rc == 0 ? add_to(rollup, BUCKET_HOUR, id, kept, error) : rc;
}
