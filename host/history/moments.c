// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/moments.h"

#include "base/cleanup.h"
#include "history/bucket_row.h"
#include "history/guest_stats_row.h"
#include "history/open_store.h"
#include "history/rollup.h"
#include "history/sql.h"

#include <stdlib.h>

struct walk {
    struct store *store;
    sqlite3_stmt *buckets, *words;
    struct bucket *bucket;
    int64_t guest_id;
    const struct history_query *query;
};

static int begin_walk(struct walk *walk, struct error *error)
{
    const struct history_query *query = walk->query;
    int rc = bucket_row_prepare(
        walk->store, "start_s, ",
        " WHERE guest_id = ? AND level_s = ? AND start_s >= ? AND start_s <= ?"
        " ORDER BY start_s",
        &walk->buckets, error);

    if (rc == 0)
        rc = guest_stats_bucket_prepare(walk->store, &walk->words, error);
    if (rc < 0)
        return rc;
    sql_bind_all(walk->buckets, 1, walk->guest_id, query->level_s,
                 bucket_start(sql_whole(query->from_s), query->level_s), sql_whole(query->to_s));
    return 0;
}

/* Returns 1, 0 at the end, or negative. */
static int next(const struct walk *walk, struct history_moment *moment, struct error *error)
{
    int rc = sql_step(walk->store, walk->buckets, error);

    if (rc != 1)
        return rc;
    if (sql_i64(walk->buckets, 0, &moment->start_s) < 0 ||
        bucket_row_read(walk->buckets, 1, walk->bucket, walk->query->window_s) < 0)
        return sql_invalid(walk->store, "a bucket", error);
    moment->bucket = walk->bucket;

    const struct bucket_key key = {walk->query->level_s, moment->start_s, walk->guest_id};

    rc = guest_stats_bucket_read(walk->store, walk->words, &key, &moment->guest, error);
    return rc < 0 ? rc : 1;
}

int history_moments(struct store *store, const struct history_guest *guest,
                    const struct history_query *query,
                    int (*see)(const struct history_moment *moment, void *context), void *context,
                    struct error *error)
{
    cleanup_free struct bucket *bucket = malloc(sizeof(*bucket));
    struct walk walk = {store, NULL, NULL, bucket, guest->id, query};
    struct history_moment moment;
    int rc;

    if (!bucket)
        return sql_no_memory(store, error);
    rc = begin_walk(&walk, error);
    while (rc == 0 && (rc = next(&walk, &moment, error)) == 1)
        rc = see(&moment, context);
    sqlite3_finalize(walk.buckets);
    sqlite3_finalize(walk.words);
    return rc;
}

int history_first_of_process(struct store *store, int64_t guest_id, pid_t pid, double *time_s,
                             struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int64_t time_ms;
    int rc = sql_prepare_with(store,
                              "SELECT time_ms FROM sample WHERE guest_id = ? AND pid = ?"
                              " ORDER BY time_ms LIMIT 1",
                              &statement, error, guest_id, pid);

    if (rc == 0)
        rc = sql_step(store, statement, error);
    if (rc != 1)
        return rc;
    if (sql_i64(statement, 0, &time_ms) < 0)
        return sql_invalid(store, "a record", error);
    *time_s = (double)time_ms / 1000;
    return 1;
}
