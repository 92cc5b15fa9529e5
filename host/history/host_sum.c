// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/host_sum.h"

#include "base/cleanup.h"
#include "history/bucket_beside.h"
#include "history/bucket_need.h"
#include "history/open_store.h"
#include "history/rollup.h"
#include "history/sql.h"
#include "history/standing.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- one minute ------------------------------------------------------------------------------- */

enum { GUESTS, WRITE, HOSTS, MINUTES, KNOWN, WRITE_HOUR, N_STATEMENTS };
static const char *const statements[N_STATEMENTS] = {
    [GUESTS] = "SELECT id, host FROM guest ORDER BY host",
    [WRITE] = "INSERT OR REPLACE INTO host_need(level_s, start_s, host, guests, minutes, windows)"
              " VALUES (?, ?, ?, ?, ?, ?)",
    [HOSTS] = "SELECT DISTINCT host FROM host_need WHERE level_s = 60"
              " AND start_s >= ? AND start_s < ?",
    [MINUTES] = "SELECT windows, guests, start_s FROM host_need WHERE level_s = 60"
                " AND start_s >= ? AND start_s < ? AND host = ?",
    [KNOWN] = "SELECT coalesce(max(minutes), 0) FROM host_need WHERE level_s = 3600"
              " AND start_s = ? AND host = ?",
    [WRITE_HOUR] = "INSERT OR REPLACE INTO host_minutes(level_s, start_s, host, window_ms, needs)"
                   " VALUES (3600, ?, ?, ?, ?)",
};

struct sum {
    struct store *store;
    sqlite3_stmt *sql[N_STATEMENTS];
    struct bucket_beside before, after;
    struct bucket *minute, *hour; /* scratch for one of each */
    struct kept_sample *kept;     /* the host's sums, in the form of a minute's record */
    char host[256];               /* the host whose sum is being computed */
    bool is_known;                /* a record covers this minute */
    bool any;                     /* is_known is true for some host */
    uint64_t n_guests;
    double resident_bytes; /* resident memory of all guests that are not measured */
};

static struct window_record *find_window(struct sample_record *sample, double window_s)
{
    for (size_t w = 0; w < sample->n_windows; w++)
        if (bucket_same_window(sample->windows[w].window_s, window_s))
            return &sample->windows[w];
    if (sample->n_windows == RUN_MAX_WINDOWS)
        return NULL;
    sample->windows[sample->n_windows] = (struct window_record){.window_s = window_s};
    return &sample->windows[sample->n_windows++];
}

static void add_bucket(struct sum *sum, const struct bucket *bucket)
{
    double bytes;

    if (!bucket_need(bucket, &bytes))
        return;
    sum->n_guests++;
    sum->any = true;
    if (bucket->n_windows == 0)
        sum->resident_bytes += bytes;
    for (size_t w = 0; w < bucket->n_windows; w++) {
        struct window_record *into = find_window(&sum->kept->record.sample,
                                                 bucket->windows[w].window_s);

        if (into)
            into->wss_bytes += (uint64_t)bucket_window_need(bucket, w);
    }
}

/* Skips an unreadable row: rollup.h will replace it. */
static int read_beside(struct bucket_beside *beside, int64_t guest_id, int64_t minute_s,
                       struct error *error)
{
    const int rc = bucket_beside_read(beside, guest_id, minute_s, 0, error);

    return rc == -EUCLEAN && beside->unreadable ? 0 : rc;
}

/* Adds the bucket before or after the minute, whichever covers the minute. */
static int add_standing(struct sum *sum, int64_t guest_id, int64_t minute_s, bool has_before,
                        struct error *error)
{
    const struct standing before = has_before ? standing_of(sum->before.start_s, sum->before.bucket)
                                              : (struct standing){0};
    struct standing_events events = {0};
    struct standing after = {0};
    int rc = read_beside(&sum->after, guest_id, minute_s, error);

    if (rc == 1)
        after = standing_of(sum->after.start_s, sum->after.bucket);

    const bool reaches = rc == 1 && standing_from(&after, NULL, &events) <= (double)minute_s;
    const bool goes_on = has_before && standing_until(&before, &events, false) > (double)minute_s;

    if (rc < 0 || (!reaches && !goes_on))
        return rc < 0 ? rc : 0;
    rc = standing_events_read(sum->store, guest_id, HUGE_VAL, &events, error);
    if (rc == 0 && reaches &&
        standing_from(&after, has_before ? &before : NULL, &events) <= (double)minute_s) {
        add_bucket(sum, sum->after.bucket);
        sum->is_known = true;
    } else if (rc == 0 && goes_on && standing_until(&before, &events, false) > (double)minute_s) {
        add_bucket(sum, sum->before.bucket);
        sum->is_known |= standing_until(&before, &events, true) > (double)minute_s;
    }
    standing_events_free(&events);
    return rc;
}

static int add_guest(struct sum *sum, int64_t guest_id, int64_t minute_s, struct error *error)
{
    const int rc = read_beside(&sum->before, guest_id, minute_s, error);

    if (rc < 0 || (rc == 1 && sum->before.start_s == minute_s)) {
        if (rc == 1)
            add_bucket(sum, sum->before.bucket);
        sum->is_known |= rc == 1;
        return rc < 0 ? rc : 0;
    }
    return add_standing(sum, guest_id, minute_s, rc == 1, error);
}

static int prepare_sum(struct sum *sum, struct error *error)
{
    struct store *store = sum->store;
    int rc;

    sum->minute = malloc(sizeof(*sum->minute));
    sum->hour = malloc(sizeof(*sum->hour));
    sum->kept = calloc(1, sizeof(*sum->kept));
    if (!sum->minute || !sum->hour || !sum->kept)
        return sql_no_memory(store, error);
    rc = bucket_beside_begin(&sum->before, store, false, error);
    if (rc == 0)
        rc = bucket_beside_begin(&sum->after, store, true, error);
    return rc == 0 ? sql_prepare_all(store, statements, sum->sql, N_STATEMENTS, error) : rc;
}

void host_sum_free(struct sum *sum)
{
    if (!sum)
        return;
    bucket_beside_end(&sum->before);
    bucket_beside_end(&sum->after);
    sql_finalize_all(sum->sql, N_STATEMENTS);
    free(sum->minute);
    free(sum->hour);
    free(sum->kept);
    free(sum);
}

/* Keeps the prepared statements: preparing them took 30 % of the time in which a record of one
 * guest is added. */
static int get_prepared(struct store *store, struct error *error)
{
    if (store->sum)
        return 0;
    store->sum = calloc(1, sizeof(*store->sum));
    if (!store->sum)
        return sql_no_memory(store, error);
    store->sum->store = store;
    return prepare_sum(store->sum, error);
}

static int write_row(struct sum *sum, int level_s, int64_t start_s, const struct bucket *bucket,
                     struct error *error)
{
    cleanup_free char *windows = bucket_windows_text(bucket);

    if (!windows)
        return sql_no_memory(sum->store, error);
    sql_bind_all(sum->sql[WRITE], 1, level_s, start_s);
    sql_bind_text(sum->sql[WRITE], 3, sum->host);
    sql_bind_u64(sum->sql[WRITE], 4, sum->n_guests);
    sql_bind_u64(sum->sql[WRITE], 5, bucket->records);
    sql_bind_text(sum->sql[WRITE], 6, windows);
    return sql_finish(sum->store, sum->sql[WRITE], error);
}

/* --- its hour --------------------------------------------------------------------------------- */

/* "[minute, bytes, ...]" for each window. */
struct hour_needs {
    int64_t start_s;
    size_t n;
    double window_s[RUN_MAX_WINDOWS];
    json_t *needs[RUN_MAX_WINDOWS];
};

static json_t *find_needs(struct hour_needs *needs, double window_s)
{
    for (size_t w = 0; w < needs->n; w++)
        if (bucket_same_window(needs->window_s[w], window_s))
            return needs->needs[w];
    if (needs->n == RUN_MAX_WINDOWS)
        return NULL;
    needs->window_s[needs->n] = window_s;
    needs->needs[needs->n] = json_array();
    return needs->needs[needs->n++];
}

static void add_minute(struct sum *sum, struct hour_needs *needs, int64_t start_s)
{
    struct sample_record *sample = &sum->kept->record.sample;

    sample->n_windows = sum->minute->n_windows;
    for (size_t w = 0; w < sample->n_windows; w++) {
        const uint64_t bytes = sum->minute->windows[w].sketch.max;
        json_t *array = find_needs(needs, sum->minute->windows[w].window_s);

        sample->windows[w] = (struct window_record){.window_s = sum->minute->windows[w].window_s,
                                                    .wss_bytes = bytes,
                                                    .wss_low_bytes = bytes,
                                                    .wss_high_bytes = bytes};
        json_array_append_new(array, json_integer((start_s - needs->start_s) / BUCKET_MINUTE));
        json_array_append_new(array, json_integer((json_int_t)bytes));
    }
    bucket_add(sum->hour, sum->kept);
}

static int read_minutes(struct sum *sum, struct hour_needs *needs, struct error *error)
{
    int rc;

    sum->n_guests = 0;
    while ((rc = sql_step(sum->store, sum->sql[MINUTES], error)) == 1) {
        const char *text = (const char *)sqlite3_column_text(sum->sql[MINUTES], 0);
        uint64_t guests = 0;
        int64_t start_s;

        bucket_clear(sum->minute);
        if (!text || sql_u64(sum->sql[MINUTES], 1, &guests) < 0 ||
            sql_i64(sum->sql[MINUTES], 2, &start_s) < 0 ||
            bucket_windows_parse(sum->minute, text, strlen(text), 0) < 0)
            continue;
        if (guests > sum->n_guests)
            sum->n_guests = guests;
        add_minute(sum, needs, start_s);
    }
    sqlite3_reset(sum->sql[MINUTES]);
    return rc;
}

static int write_needs(struct sum *sum, const struct hour_needs *needs, struct error *error)
{
    int rc = 0;

    for (size_t w = 0; rc == 0 && w < needs->n; w++) {
        cleanup_free char *text = json_dumps(needs->needs[w], JSON_COMPACT);

        if (!text)
            return sql_no_memory(sum->store, error);
        sqlite3_bind_int64(sum->sql[WRITE_HOUR], 1, needs->start_s);
        sql_bind_text(sum->sql[WRITE_HOUR], 2, sum->host);
        sqlite3_bind_int64(sum->sql[WRITE_HOUR], 3, llround(needs->window_s[w] * 1000));
        sql_bind_text(sum->sql[WRITE_HOUR], 4, text);
        rc = sql_finish(sum->store, sum->sql[WRITE_HOUR], error);
    }
    return rc;
}

static int write_hour(struct sum *sum, const struct hour_needs *needs, struct error *error)
{
    const int rc = write_row(sum, BUCKET_HOUR, needs->start_s, sum->hour, error);

    return rc == 0 ? write_needs(sum, needs, error) : rc;
}

/* Counts the minutes that the hour had, including those already deleted. */
static int minutes_before(struct sum *sum, int64_t start_s, uint64_t *minutes, struct error *error)
{
    int rc;

    sqlite3_bind_int64(sum->sql[KNOWN], 1, start_s);
    sql_bind_text(sum->sql[KNOWN], 2, sum->host);
    rc = sql_step(sum->store, sum->sql[KNOWN], error);
    if (rc <= 0 || sql_u64(sum->sql[KNOWN], 0, minutes) < 0)
        *minutes = 0;
    sqlite3_reset(sum->sql[KNOWN]);
    return rc < 0 ? rc : 0;
}

static int sum_hour(struct sum *sum, int64_t start_s, struct error *error)
{
    struct hour_needs needs = {.start_s = start_s};
    uint64_t before = 0;
    int rc = minutes_before(sum, start_s, &before, error);

    if (rc < 0)
        return rc;
    bucket_clear(sum->hour);
    sql_bind_all(sum->sql[MINUTES], 1, start_s, start_s + BUCKET_HOUR);
    sql_bind_text(sum->sql[MINUTES], 3, sum->host);
    rc = read_minutes(sum, &needs, error);
    if (rc == 0 && sum->hour->records >= before)
        rc = write_hour(sum, &needs, error);
    for (size_t w = 0; w < needs.n; w++)
        json_decref(needs.needs[w]);
    return rc;
}

/* Adds up the hour of these minutes again, for each host that has a sum of one of them. */
static int sum_hours(struct sum *sum, int64_t from_s, int64_t to_s, struct error *error)
{
    int rc;

    sql_bind_all(sum->sql[HOSTS], 1, from_s, to_s);
    while ((rc = sql_step(sum->store, sum->sql[HOSTS], error)) == 1) {
        if (sql_text(sum->sql[HOSTS], 0, sum->host, sizeof(sum->host)) < 0)
            continue;
        if ((rc = sum_hour(sum, bucket_start(from_s, BUCKET_HOUR), error)) < 0)
            break;
    }
    sqlite3_reset(sum->sql[HOSTS]);
    return rc;
}

/* --- minute by minute ------------------------------------------------------------------------- */

static void begin_host(struct sum *sum)
{
    sum->n_guests = 0;
    sum->is_known = false;
    sum->resident_bytes = 0;
    sum->kept->record.sample.n_windows = 0;
    sum->kept->period_s = BUCKET_MINUTE;
}

/* Ends a host: all its guests have been seen. */
static int end_host(struct sum *sum, int64_t minute_s, struct error *error)
{
    struct sample_record *sample = &sum->kept->record.sample;

    if (!sum->is_known || sample->n_windows == 0)
        return 0;
    for (size_t w = 0; w < sample->n_windows; w++) {
        struct window_record *window = &sample->windows[w];

        window->wss_bytes += (uint64_t)sum->resident_bytes;
        window->wss_low_bytes = window->wss_high_bytes = window->wss_bytes;
    }
    bucket_clear(sum->minute);
    bucket_add(sum->minute, sum->kept);
    return write_row(sum, BUCKET_MINUTE, minute_s, sum->minute, error);
}

static int see_guest(struct sum *sum, int64_t minute_s, struct error *error)
{
    char host[sizeof(sum->host)];
    int64_t guest_id = 0;
    int rc = 0;

    if (sql_i64(sum->sql[GUESTS], 0, &guest_id) < 0 ||
        sql_text(sum->sql[GUESTS], 1, host, sizeof(host)) < 0)
        return 0;
    if (strcmp(host, sum->host) != 0) {
        rc = end_host(sum, minute_s, error);
        memcpy(sum->host, host, sizeof(host));
        begin_host(sum);
    }
    return rc == 0 ? add_guest(sum, guest_id, minute_s, error) : rc;
}

static int sum_minute(struct sum *sum, int64_t minute_s, struct error *error)
{
    int rc;

    sum->host[0] = '\0';
    sum->any = false;
    begin_host(sum);
    while ((rc = sql_step(sum->store, sum->sql[GUESTS], error)) == 1)
        if ((rc = see_guest(sum, minute_s, error)) < 0)
            break;
    sqlite3_reset(sum->sql[GUESTS]);
    return rc < 0 ? rc : end_host(sum, minute_s, error);
}

/* Adds up minutes of one hour, and then the hour. */
static int sum_within_hour(struct sum *sum, int64_t from_s, int64_t to_s, bool pause,
                           struct error *error)
{
    int64_t m = from_s;
    int rc = 0;

    do
        rc = sum_minute(sum, m, error);
    while (rc == 0 && (m += BUCKET_MINUTE) < to_s && (sum->any || !pause));
    return rc == 0 ? sum_hours(sum, from_s, m, error) : rc;
}

int host_sum_range(struct store *store, int64_t from_s, int64_t to_s, bool pause,
                   struct error *error)
{
    int rc = from_s < to_s ? get_prepared(store, error) : 0;

    for (bool any = true; rc == 0 && from_s < to_s && (any || !pause); any = store->sum->any) {
        const int64_t hour_s = bucket_start(from_s, BUCKET_HOUR) + BUCKET_HOUR;
        const int64_t until_s = hour_s < to_s ? hour_s : to_s;

        rc = sum_within_hour(store->sum, from_s, until_s, pause, error);
        from_s = until_s;
    }
    /* a failed statement may still be running, and would prevent the rollback */
    if (rc < 0) {
        host_sum_free(store->sum);
        store->sum = NULL;
    }
    return rc;
}
