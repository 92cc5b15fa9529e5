// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file points.c  See history.h: walks one guest over time, and all guests hour by hour. */
#include "base/cleanup.h"
#include "history/bucket_row.h"
#include "history/history.h"
#include "history/kept_row.h"
#include "history/moments.h"
#include "history/open_store.h"
#include "history/rollup.h"
#include "history/sql.h"

#include <stdlib.h>

int history_level(double span_s)
{
    if (span_s <= 100 * BUCKET_MINUTE)
        return 0;
    return span_s <= 100 * BUCKET_HOUR ? BUCKET_MINUTE : BUCKET_HOUR;
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
        return sql_no_memory(store, error);
    rc = kept_row_prepare(
        store, "",
        KEPT_FROM " WHERE g.id = ? AND s.time_ms >= ? AND s.time_ms <= ? ORDER BY s.time_ms",
        &statement, error);
    if (rc < 0)
        return rc;
    sql_bind_all(statement, 1, guest->id, sql_whole(query->from_s * 1000),
                 sql_whole(query->to_s * 1000));
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

int history_buckets(struct store *store, const struct history_query *query,
                    int (*see)(int64_t guest_id, int64_t start_s, const struct bucket *bucket,
                               void *context),
                    void *context, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    cleanup_free struct bucket *bucket = malloc(sizeof(*bucket));
    int rc = bucket_row_prepare(store, "guest_id, start_s, ",
                                " WHERE level_s = ? AND start_s >= ? AND start_s <= ?"
                                " ORDER BY start_s, guest_id",
                                &statement, error);
    int64_t guest_id;
    int64_t start_s;

    if (!bucket)
        return sql_no_memory(store, error);
    if (rc == 0)
        sql_bind_all(statement, 1, query->level_s,
                     bucket_start(sql_whole(query->from_s), query->level_s),
                     sql_whole(query->to_s));
    while (rc == 0 && (rc = sql_step(store, statement, error)) == 1) {
        if (sql_i64(statement, 0, &guest_id) < 0 || sql_i64(statement, 1, &start_s) < 0 ||
            bucket_row_read(statement, 2, bucket, query->window_s) < 0)
            return sql_invalid(store, "a bucket", error);
        rc = see(guest_id, start_s, bucket, context);
    }
    return rc;
}

struct pointing {
    int (*see)(const struct history_point *point, void *context);
    void *context;
};

static int see_moment(const struct history_moment *moment, void *context)
{
    const struct pointing *pointing = context;
    struct history_point point;

    if (moment->bucket->n_windows == 0)
        return 0;
    bucket_point(&point, moment->start_s, moment->bucket);
    point.guest = moment->guest;
    return pointing->see(&point, pointing->context);
}

int history_points(struct store *store, const struct history_guest *guest,
                   const struct history_query *query,
                   int (*see)(const struct history_point *point, void *context), void *context,
                   struct error *error)
{
    struct pointing pointing = {see, context};

    return query->level_s == 0 ? sample_points(store, guest, query, see, context, error)
                               : history_moments(store, guest, query, see_moment, &pointing, error);
}
