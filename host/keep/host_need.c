// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file host_need.c  See host_need.h. */
#include "keep/host_need.h"

#include "base/cleanup.h"
#include "keep/bucket_need.h"
#include "keep/bucket_row.h"
#include "keep/open_store.h"
#include "keep/rollup.h"
#include "keep/schema.h"
#include "keep/sql.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No record stands for longer. */
#define PERIOD_MAX_S 7200.0
#define DAY_S 86400

/* Of each guest its last bucket that may reach into the minute ?2; not of one that ended since then
 * and has not begun again. */
static const char reaching[] =
    " JOIN guest ON guest.id = guest_id WHERE level_s = 60 AND (start_s, guest_id) IN"
    " (SELECT max(start_s), guest_id FROM bucket WHERE level_s = 60 AND start_s BETWEEN ?1 AND ?2"
    " GROUP BY guest_id)"
    " AND (start_s = ?2 OR (SELECT kind FROM event WHERE event.guest_id = bucket.guest_id AND"
    " kind IN ('start', 'end') AND time_ms BETWEEN start_s * 1000 AND ?2 * 1000"
    " ORDER BY time_ms DESC, event.id DESC LIMIT 1) IS NOT 'end')"
    " ORDER BY host";

/* --- one minute ------------------------------------------------------------------------------- */

/* What one guest needs. */
struct part {
    int64_t guest_id; /* 0: there is none yet */
    size_t n;
    double window_s[RUN_MAX_WINDOWS], bytes[RUN_MAX_WINDOWS];
    double resident_bytes; /* of one that is not measured: at any window; 0: it is */
};

struct sum {
    struct store *store;
    sqlite3_stmt *read, *write, *minutes, *known;
    struct bucket *row, *minute, *hour; /* room for one of each */
    struct kept_sample *kept;           /* the sums of the host, as a record of a minute */
    char host[256];                     /* that is being added up */
    bool is_known;                      /* a record stands for this minute */
    uint64_t guests;
    double resident_bytes; /* of all that are not measured */
    struct part part;
};

static bool same_window(double a, double b)
{
    return fabs(a - b) < 0.0005;
}

static struct window_record *find_window(struct sample_record *sample, double window_s)
{
    for (size_t w = 0; w < sample->n_windows; w++)
        if (same_window(sample->windows[w].window_s, window_s))
            return &sample->windows[w];
    if (sample->n_windows == RUN_MAX_WINDOWS)
        return NULL;
    sample->windows[sample->n_windows] = (struct window_record){.window_s = window_s};
    return &sample->windows[sample->n_windows++];
}

static void add_part(struct sum *sum)
{
    const struct part *part = &sum->part;

    if (part->guest_id == 0)
        return;
    sum->guests++;
    sum->resident_bytes += part->resident_bytes;
    for (size_t w = 0; w < part->n; w++) {
        struct window_record *into = find_window(&sum->kept->record.sample, part->window_s[w]);

        if (into)
            into->wss_bytes += (uint64_t)part->bytes[w];
    }
    sum->part.guest_id = 0;
}

/* A guest counts if its bucket stands. */
static void take_bucket(struct sum *sum, int64_t guest_id, int64_t start_s, int64_t minute_s)
{
    const struct bucket *bucket = sum->row;
    struct part *part = &sum->part;

    if (!bucket_stands(bucket, (double)(minute_s - start_s)))
        return;
    sum->is_known |= (double)start_s + bucket_need_lasts(bucket) > (double)minute_s;
    *part = (struct part){.guest_id = guest_id, .n = bucket->n_windows};
    if (bucket->n_windows == 0)
        part->resident_bytes = bucket->summary.resident_bytes;
    for (size_t w = 0; w < part->n; w++) {
        part->window_s[w] = bucket->windows[w].window_s;
        part->bytes[w] = bucket_window_need(bucket, w);
    }
}

static int prepare_sum(struct sum *sum, struct error *error)
{
    struct store *store = sum->store;
    int rc;

    sum->row = malloc(sizeof(*sum->row));
    sum->minute = malloc(sizeof(*sum->minute));
    sum->hour = malloc(sizeof(*sum->hour));
    sum->kept = calloc(1, sizeof(*sum->kept));
    if (!sum->row || !sum->minute || !sum->hour || !sum->kept)
        return error_set(error, -ENOMEM, "%s: out of memory", store->path);
    rc = bucket_row_prepare(store, "host, guest_id, start_s, ", reaching, &sum->read, error);
    if (rc == 0)
        rc = sql_prepare(store,
                         "INSERT OR REPLACE INTO host_need(level_s, start_s, host, guests, minutes,"
                         " windows) VALUES (?, ?, ?, ?, ?, ?)",
                         &sum->write, error);
    if (rc == 0)
        rc = sql_prepare(store,
                         "SELECT windows, guests FROM host_need WHERE level_s = 60 AND start_s >= ?"
                         " AND start_s < ? AND host = ?",
                         &sum->minutes, error);
    if (rc == 0)
        rc = sql_prepare(store,
                         "SELECT coalesce(max(minutes), 0) FROM host_need WHERE level_s = 3600 AND"
                         " start_s = ? AND host = ?",
                         &sum->known, error);
    return rc;
}

static void end_sum(struct sum *sum)
{
    sqlite3_finalize(sum->read);
    sqlite3_finalize(sum->write);
    sqlite3_finalize(sum->minutes);
    sqlite3_finalize(sum->known);
    free(sum->row);
    free(sum->minute);
    free(sum->hour);
    free(sum->kept);
}

static int write_row(struct sum *sum, int level_s, int64_t start_s, const struct bucket *bucket,
                     struct error *error)
{
    cleanup_free char *windows = bucket_windows_text(bucket);

    if (!windows)
        return error_set(error, -ENOMEM, "%s: out of memory", sum->store->path);
    sqlite3_bind_int(sum->write, 1, level_s);
    sqlite3_bind_int64(sum->write, 2, start_s);
    sql_bind_text(sum->write, 3, sum->host);
    sql_bind_u64(sum->write, 4, sum->guests);
    sql_bind_u64(sum->write, 5, bucket->records);
    sql_bind_text(sum->write, 6, windows);
    return sql_finish(sum->store, sum->write, error);
}

/* --- its hour --------------------------------------------------------------------------------- */

static void add_minute(struct sum *sum)
{
    struct sample_record *sample = &sum->kept->record.sample;

    sample->n_windows = sum->minute->n_windows;
    for (size_t w = 0; w < sample->n_windows; w++) {
        const uint64_t bytes = sum->minute->windows[w].sketch.max;

        sample->windows[w] = (struct window_record){.window_s = sum->minute->windows[w].window_s,
                                                    .wss_bytes = bytes,
                                                    .wss_low_bytes = bytes,
                                                    .wss_high_bytes = bytes};
    }
    bucket_add(sum->hour, sum->kept);
}

static int read_minutes(struct sum *sum, struct error *error)
{
    int rc;

    sum->guests = 0;
    while ((rc = sql_step(sum->store, sum->minutes, error)) == 1) {
        const char *text = (const char *)sqlite3_column_text(sum->minutes, 0);
        uint64_t guests = 0;

        bucket_clear(sum->minute);
        if (!text || sql_u64(sum->minutes, 1, &guests) < 0 ||
            bucket_windows_parse(sum->minute, text, strlen(text), 0) < 0)
            continue;
        if (guests > sum->guests)
            sum->guests = guests;
        add_minute(sum);
    }
    sqlite3_reset(sum->minutes);
    return rc;
}

/* How many minutes the hour has had; retention may have deleted some of them since. */
static int minutes_before(struct sum *sum, int64_t start_s, uint64_t *minutes, struct error *error)
{
    int rc;

    sqlite3_bind_int64(sum->known, 1, start_s);
    sql_bind_text(sum->known, 2, sum->host);
    rc = sql_step(sum->store, sum->known, error);
    if (rc <= 0 || sql_u64(sum->known, 0, minutes) < 0)
        *minutes = 0;
    sqlite3_reset(sum->known);
    return rc < 0 ? rc : 0;
}

static int sum_hour(struct sum *sum, int64_t minute_s, struct error *error)
{
    const int64_t start_s = bucket_start(minute_s, BUCKET_HOUR);
    uint64_t before = 0;
    int rc = minutes_before(sum, start_s, &before, error);

    if (rc < 0)
        return rc;
    bucket_clear(sum->hour);
    sqlite3_bind_int64(sum->minutes, 1, start_s);
    sqlite3_bind_int64(sum->minutes, 2, start_s + BUCKET_HOUR);
    sql_bind_text(sum->minutes, 3, sum->host);
    rc = read_minutes(sum, error);
    if (rc < 0 || sum->hour->records < before)
        return rc;
    return write_row(sum, BUCKET_HOUR, start_s, sum->hour, error);
}

/* --- minute by minute ------------------------------------------------------------------------- */

static void begin_host(struct sum *sum)
{
    sum->guests = 0;
    sum->is_known = false;
    sum->resident_bytes = 0;
    sum->part.guest_id = 0;
    sum->kept->record.sample.n_windows = 0;
    sum->kept->period_s = BUCKET_MINUTE;
}

/* All guests of the host have been seen. */
static int end_host(struct sum *sum, int64_t minute_s, struct error *error)
{
    struct sample_record *sample = &sum->kept->record.sample;
    int rc;

    add_part(sum);
    if (!sum->is_known || sample->n_windows == 0)
        return 0;
    for (size_t w = 0; w < sample->n_windows; w++) {
        struct window_record *window = &sample->windows[w];

        window->wss_bytes += (uint64_t)sum->resident_bytes;
        window->wss_low_bytes = window->wss_high_bytes = window->wss_bytes;
    }
    bucket_clear(sum->minute);
    bucket_add(sum->minute, sum->kept);
    rc = write_row(sum, BUCKET_MINUTE, minute_s, sum->minute, error);
    return rc == 0 ? sum_hour(sum, minute_s, error) : rc;
}

/* A row that cannot be read is left out: rollup.h begins it anew. */
static int see_row(struct sum *sum, int64_t minute_s, struct error *error)
{
    char host[sizeof(sum->host)];
    int64_t guest_id = 0;
    int64_t start_s = 0;
    int rc = 0;

    if (sql_text(sum->read, 0, host, sizeof(host)) < 0 || sql_i64(sum->read, 1, &guest_id) < 0 ||
        sql_i64(sum->read, 2, &start_s) < 0 || guest_id == sum->part.guest_id)
        return 0;
    bucket_clear(sum->row);
    if (bucket_row_read(sum->read, 3, sum->row, 0) < 0)
        return 0;
    add_part(sum);
    if (strcmp(host, sum->host) != 0) {
        rc = end_host(sum, minute_s, error);
        memcpy(sum->host, host, sizeof(host));
        begin_host(sum);
    }
    take_bucket(sum, guest_id, start_s, minute_s);
    return rc;
}

static int sum_minute(struct sum *sum, int64_t minute_s, double period_s, struct error *error)
{
    int rc;

    sqlite3_bind_int64(sum->read, 1, minute_s - (int64_t)period_s);
    sqlite3_bind_int64(sum->read, 2, minute_s);
    sum->host[0] = '\0';
    begin_host(sum);
    while ((rc = sql_step(sum->store, sum->read, error)) == 1)
        if ((rc = see_row(sum, minute_s, error)) < 0)
            break;
    sqlite3_reset(sum->read);
    return rc < 0 ? rc : end_host(sum, minute_s, error);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* How long the records around a time stand for at most: of guests that are measured seldom one may
 * reach over a start of the writer. */
static int find_longest(struct store *store, int64_t around_s, struct error *error)
{
    int64_t longest_ms = 0;
    char sql[256];
    int rc;

    snprintf(sql, sizeof(sql),
             "SELECT coalesce(max(period_ms / records), 0) FROM bucket WHERE level_s = 60 AND"
             " start_s BETWEEN %lld AND %lld",
             (long long)around_s - (long long)bucket_stands_s(PERIOD_MAX_S), (long long)around_s);
    rc = sql_run_i64(store, sql, &longest_ms, error);
    if (rc == 0)
        store->longest_period_s = fmax(store->longest_period_s, (double)longest_ms / 1000);
    return rc;
}

/* After a start it goes on where it was. */
static int find_summed(struct store *store, int64_t first_s, struct error *error)
{
    int64_t last_s = 0;
    int rc = sql_run_i64(store,
                         "SELECT coalesce(max(start_s) + 60, 0) FROM host_need WHERE level_s = 60",
                         &last_s, error);

    if (rc == 0)
        store->summed_s = last_s;
    return rc == 0 ? find_longest(store, last_s > 0 ? earlier(last_s, first_s) : first_s, error)
                   : rc;
}

static int sum_range(struct store *store, int64_t from_s, int64_t to_s, struct error *error)
{
    struct sum sum = {.store = store};
    int rc = from_s < to_s ? prepare_sum(&sum, error) : 0;

    for (int64_t m = from_s; rc == 0 && m < to_s; m += BUCKET_MINUTE)
        rc = sum_minute(&sum, m, bucket_stands_s(store->longest_period_s), error);
    end_sum(&sum);
    return rc;
}

/* What was added up already and a late record stands for is so again; where records paused, minutes
 * are only as long as the last ones stand. A clock that was more than a day ahead is forgotten. */
int host_need_sum(struct store *store, int64_t first_s, int64_t last_s, double period_s,
                  struct error *error)
{
    int64_t lasts_s;
    int64_t summed_s;
    int rc = store->summed_s == 0 ? find_summed(store, first_s, error) : 0;

    if (rc < 0)
        return rc;
    store->longest_period_s = fmin(fmax(store->longest_period_s, period_s), PERIOD_MAX_S);
    lasts_s = bucket_start((int64_t)bucket_stands_s(store->longest_period_s), BUCKET_MINUTE) +
              BUCKET_MINUTE;
    summed_s = store->summed_s;
    store->summed_s = last_s;
    if (summed_s == 0)
        return sum_range(store, first_s, last_s, error);
    if (summed_s < first_s) { /* minutes before the first of these */
        rc = sum_range(store, summed_s, earlier(first_s, summed_s + lasts_s), error);
        return rc == 0 ? sum_range(store, first_s, last_s, error) : rc;
    }
    if (summed_s < last_s + DAY_S)
        store->summed_s = later(last_s, summed_s);
    return sum_range(store, first_s, later(last_s, earlier(summed_s, last_s + lasts_s)), error);
}

/* --- reading ---------------------------------------------------------------------------------- */

static int take_need(struct host_needs *needs, sqlite3_stmt *row, const struct bucket_window *of,
                     int level_s)
{
    struct host_need *all = needs->all;
    struct host_need need = {.max_bytes = (double)of->sketch.max, .minutes = of->records};
    int64_t start_s;

    if (sql_i64(row, 0, &start_s) < 0)
        return -EUCLEAN;
    need.start_s = (double)start_s;
    if ((needs->n & (needs->n - 1)) == 0) /* full at the powers of two */
        all = reallocarray(all, needs->n == 0 ? 1 : 2 * needs->n, sizeof(*all));
    if (!all)
        return -ENOMEM;
    needs->all = all;
    if (level_s == BUCKET_HOUR) {
        struct sketch_step steps[SKETCH_BINS];

        need.n_steps = sketch_steps(&of->sketch, steps);
        need.steps = malloc(need.n_steps * sizeof(*steps));
        if (!need.steps)
            return -ENOMEM;
        memcpy(need.steps, steps, need.n_steps * sizeof(*steps));
    }
    all[needs->n++] = need;
    return 0;
}

static int read_need(struct host_needs *needs, sqlite3_stmt *row, struct bucket *bucket,
                     const struct history_query *query)
{
    const char *text = (const char *)sqlite3_column_text(row, 1);
    const struct bucket_window *window;

    bucket_clear(bucket);
    if (!text || bucket_windows_parse(bucket, text, strlen(text), query->window_s) < 0)
        return -EUCLEAN;
    window = bucket_find(bucket, query->window_s);
    return window ? take_need(needs, row, window, query->level_s) : 0;
}

int host_needs_read(struct store *store, const char *host, const struct history_query *query,
                    struct host_needs *needs, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    cleanup_free struct bucket *bucket = malloc(sizeof(*bucket));
    int rc;

    *needs = (struct host_needs){0};
    rc = schema_has(store, "host_need", error);
    if (rc <= 0)
        return rc;
    rc = sql_prepare(store,
                     "SELECT start_s, windows FROM host_need WHERE level_s = ? AND"
                     " start_s >= ? AND start_s <= ? AND host = ? ORDER BY start_s",
                     &statement, error);
    if (rc < 0)
        return rc;
    sqlite3_bind_int(statement, 1, query->level_s);
    sqlite3_bind_int64(statement, 2, bucket_start((int64_t)query->from_s, query->level_s));
    sqlite3_bind_int64(statement, 3, (int64_t)query->to_s);
    sql_bind_text(statement, 4, host);
    rc = bucket ? 1 : -ENOMEM;
    while (rc == 1 && (rc = sql_step(store, statement, error)) == 1) {
        const int read = read_need(needs, statement, bucket, query);

        if (read < 0)
            return error_set(error, read,
                             "%s: a row of its table host_need is not as vmwss writes "
                             "it, or out of memory",
                             store->path);
    }
    return rc == -ENOMEM ? error_set(error, rc, "%s: out of memory", store->path) : rc;
}

void host_needs_free(struct host_needs *needs)
{
    for (size_t i = 0; i < needs->n; i++)
        free(needs->all[i].steps);
    free(needs->all);
    *needs = (struct host_needs){0};
}
