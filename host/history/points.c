// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file points.c  See history.h: walks one guest over time, and all guests hour by hour. */
#include "base/cleanup.h"
#include "history/bucket_row.h"
#include "history/guest_stats_row.h"
#include "history/history.h"
#include "history/kept_row.h"
#include "history/open_store.h"
#include "history/sql.h"

#include <errno.h>
#include <stdlib.h>

int history_level(double span_s)
{
    if (span_s <= 100 * BUCKET_MINUTE)
        return 0;
    return span_s <= 100 * BUCKET_HOUR ? BUCKET_MINUTE : BUCKET_HOUR;
}

static int no_memory(const struct store *store, struct error *error)
{
    return error_set(error, -ENOMEM, "%s: out of memory", store->path);
}

/* --- records ---------------------------------------------------------------------------------- */

static const struct window_record *find_window(const struct sample_record *sample, double window_s)
{
    for (size_t w = 0; w < sample->n_windows; w++)
        if (bucket_same_window(sample->windows[w].window_s, window_s))
            return &sample->windows[w];
    return NULL;
}

static void sample_point(struct history_point *point, const struct kept_sample *kept,
                         const struct window_record *window)
{
    const struct sample_record *sample = &kept->record.sample;

    *point = (struct history_point){
        .time_s = (double)sample->time.tv_sec + (double)sample->time.tv_nsec / 1e9,
        .period_s = kept->period_s,
        .records = 1,
        .est_window_s = window->est_window_s,
        .wss_bytes = window->wss_bytes,
        .wss_low_bytes = window->wss_low_bytes,
        .wss_high_bytes = window->wss_high_bytes,
        .wss_min_bytes = window->wss_bytes,
        .wss_max_bytes = window->wss_bytes,
        .wss_p95_bytes = window->wss_bytes,
        .guest = sample->guest,
    };
    summary_add(&point->summary, kept, 1);
}

static int sample_points(struct store *store, const struct history_guest *guest,
                         const struct history_query *query,
                         int (*see)(const struct history_point *point, void *context),
                         void *context, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    cleanup_free struct kept_sample *kept = malloc(sizeof(*kept));
    struct history_point point;
    int rc;

    if (!kept)
        return no_memory(store, error);
    rc = kept_row_prepare(
        store, "",
        KEPT_FROM " WHERE g.id = ? AND s.time_ms >= ? AND s.time_ms <= ? ORDER BY s.time_ms",
        &statement, error);
    if (rc < 0)
        return rc;
    sqlite3_bind_int64(statement, 1, guest->id);
    sqlite3_bind_int64(statement, 2, sql_whole(query->from_s * 1000));
    sqlite3_bind_int64(statement, 3, sql_whole(query->to_s * 1000));
    while (rc == 0 && (rc = kept_row_next(store, statement, kept, error)) == 1) {
        const struct window_record *window = find_window(&kept->record.sample, query->window_s);

        rc = 0;
        if (!window)
            continue;
        sample_point(&point, kept, window);
        rc = see(&point, context);
    }
    return rc;
}

/* --- buckets ---------------------------------------------------------------------------------- */

static void bucket_point(struct history_point *point, int64_t start_s, const struct bucket *bucket)
{
    const struct bucket_window *window = &bucket->windows[0];

    *point = (struct history_point){
        .time_s = (double)start_s,
        .period_s = (double)bucket->period_ms / 1000,
        .records = window->records,
        .est_window_s = window->est_window_s,
        .wss_bytes = (uint64_t)window->wss,
        .wss_low_bytes = (uint64_t)window->wss_low,
        .wss_high_bytes = (uint64_t)window->wss_high,
        .wss_min_bytes = window->sketch.min,
        .wss_max_bytes = window->sketch.max,
        .wss_p95_bytes = (uint64_t)sketch_quantile(&window->sketch, 0.95),
        .summary = bucket->summary,
    };
}

/* Walks through @p statement, whose rows are guest, start, and the bucket's columns. */
static int walk_buckets(struct store *store, sqlite3_stmt *statement, double window_s,
                        int (*see)(int64_t guest_id, int64_t start_s, const struct bucket *bucket,
                                   void *context),
                        void *context, struct error *error)
{
    cleanup_free struct bucket *bucket = malloc(sizeof(*bucket));
    int64_t guest_id;
    int64_t start_s;
    int rc = bucket ? 0 : no_memory(store, error);

    while (rc == 0 && (rc = sql_step(store, statement, error)) == 1) {
        if (sql_i64(statement, 0, &guest_id) < 0 || sql_i64(statement, 1, &start_s) < 0 ||
            bucket_row_read(statement, 2, bucket, window_s) < 0)
            return error_set(error, -EUCLEAN, "%s: a bucket that vmwss has not written",
                             store->path);
        rc = see(guest_id, start_s, bucket, context);
    }
    return rc;
}

static void bind_span(sqlite3_stmt *statement, int first, const struct history_query *query)
{
    int64_t level_s = query->level_s;

    sqlite3_bind_int64(statement, first, level_s);
    sqlite3_bind_int64(statement, first + 1, sql_whole(query->from_s / (double)level_s) * level_s);
    sqlite3_bind_int64(statement, first + 2, sql_whole(query->to_s));
}

int history_buckets(struct store *store, const struct history_query *query,
                    int (*see)(int64_t guest_id, int64_t start_s, const struct bucket *bucket,
                               void *context),
                    void *context, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    int rc = bucket_row_prepare(store, "guest_id, start_s, ",
                                " WHERE level_s = ? AND start_s >= ? AND start_s <= ?"
                                " ORDER BY start_s, guest_id",
                                &statement, error);

    if (rc < 0)
        return rc;
    bind_span(statement, 1, query);
    return walk_buckets(store, statement, query->window_s, see, context, error);
}

struct pointing {
    struct store *store;
    sqlite3_stmt *words; /* reads the guest's statistics of that time */
    int level_s;
    struct error *error;
    int (*see)(const struct history_point *point, void *context);
    void *context;
};

static int see_bucket(int64_t guest_id, int64_t start_s, const struct bucket *bucket, void *context)
{
    const struct pointing *pointing = context;
    struct history_point point;

    if (bucket->n_windows == 0)
        return 0;
    bucket_point(&point, start_s, bucket);

    const struct bucket_key key = {pointing->level_s, start_s, guest_id};
    int rc = guest_stats_bucket_read(pointing->store, pointing->words, &key, &point.guest,
                                     pointing->error);

    if (rc < 0)
        return rc;
    return pointing->see(&point, pointing->context);
}

int history_points(struct store *store, const struct history_guest *guest,
                   const struct history_query *query,
                   int (*see)(const struct history_point *point, void *context), void *context,
                   struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    cleanup_statement sqlite3_stmt *words = NULL;
    struct pointing pointing = {store, NULL, query->level_s, error, see, context};
    int rc;

    if (query->level_s == 0)
        return sample_points(store, guest, query, see, context, error);
    rc = bucket_row_prepare(store, "guest_id, start_s, ",
                            " WHERE guest_id = ? AND level_s = ? AND start_s >= ? AND start_s <= ?"
                            " ORDER BY start_s",
                            &statement, error);
    if (rc < 0)
        return rc;
    sqlite3_bind_int64(statement, 1, guest->id);
    rc = guest_stats_bucket_prepare(store, &words, error);
    if (rc < 0)
        return rc;
    pointing.words = words;
    bind_span(statement, 2, query);
    return walk_buckets(store, statement, query->window_s, see_bucket, &pointing, error);
}
