// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file host_need_read.c  See host_need.h: reads minutes from the guests' buckets, and hours from
 * the stored sums. */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/compare.h"
#include "history/bucket_beside.h"
#include "history/host_need.h"
#include "history/numbers.h"
#include "history/open_store.h"
#include "history/rollup.h"
#include "history/schema.h"
#include "history/sql.h"
#include "history/standing.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- minutes ---------------------------------------------------------------------------------- */

struct needing {
    int64_t id;
    struct standing_guest standing;
};

struct adding_up {
    struct needing *guests; /* ordered by id */
    size_t n_guests;
    double window_s;
    double begin_s, to_s; /* begin_s: start of a whole minute */
    double first_s;       /* start of the time that the records of the span cover */
    size_t n;             /* number of minutes */
    double *bytes;
    bool *known;
};

COMPARE_BY(by_id, struct needing, id)

static void add_span(struct adding_up *sum, const struct standing_span *span)
{
    const double from_s = fmax(span->from_s, sum->begin_s) - sum->begin_s;

    for (size_t i = (size_t)(from_s / BUCKET_MINUTE); i < sum->n; i++) {
        const double minute_s = sum->begin_s + (double)i * BUCKET_MINUTE;

        if (minute_s >= span->until_s)
            break;
        sum->bytes[i] += span->bytes;
        sum->known[i] |= minute_s < span->known_s;
    }
}

static struct needing *find_needing(const struct adding_up *sum, int64_t id)
{
    const struct needing key = {.id = id};

    return bsearch(&key, sum->guests, sum->n_guests, sizeof(key), by_id);
}

static int see_minute(int64_t id, int64_t start_s, const struct bucket *bucket, void *context)
{
    struct adding_up *sum = context;
    struct needing *guest = find_needing(sum, id);
    struct standing_span span;

    if (guest && standing_next(&guest->standing, start_s, bucket, &span))
        add_span(sum, &span);
    return 0;
}

static int choose_guests(struct store *store, const char *host, double to_s, struct adding_up *sum,
                         struct error *error)
{
    cleanup_free struct history_guest *guests = NULL;
    const ssize_t n = history_guests(store, &guests, error);
    int rc = 0;

    if (n < 0)
        return (int)n;
    sum->guests = calloc((size_t)n + 1, sizeof(*sum->guests));
    if (!sum->guests)
        return sql_no_memory(store, error);
    for (ssize_t g = 0; rc == 0 && g < n; g++)
        if (strcmp(guests[g].host, host) == 0) {
            sum->guests[sum->n_guests].id = guests[g].id;
            rc = standing_events_read(store, guests[g].id, to_s,
                                      &sum->guests[sum->n_guests++].standing.events, error);
        }
    qsort(sum->guests, sum->n_guests, sizeof(*sum->guests), by_id);
    return rc;
}

/* Calls @p see with each guest's minute closest to @p time_s. */
static int see_beside(struct store *store, struct adding_up *sum, double time_s, bool after,
                      int (*see)(int64_t id, int64_t start_s, const struct bucket *bucket,
                                 void *context),
                      struct error *error)
{
    struct bucket_beside beside;
    int rc = bucket_beside_begin(&beside, store, after, error);

    for (size_t g = 0; rc >= 0 && g < sum->n_guests; g++) {
        rc = bucket_beside_read(&beside, sum->guests[g].id, sql_whole(time_s), sum->window_s,
                                error);
        if (rc == 1)
            rc = see(sum->guests[g].id, beside.start_s, beside.bucket, sum);
    }
    bucket_beside_end(&beside);
    return rc < 0 ? rc : 0;
}

/* Finds the first minute that a record covers; the span begins there. */
static int see_first(int64_t id, int64_t start_s, const struct bucket *bucket, void *context)
{
    struct adding_up *sum = context;
    const struct standing first = standing_of(start_s, bucket);
    const struct needing *guest = find_needing(sum, id);

    sum->first_s = fmin(sum->first_s, standing_from(&first, NULL, &guest->standing.events));
    return 0;
}

static int make_minutes(struct store *store, struct adding_up *sum, struct error *error)
{
    sum->begin_s = fmax(sum->begin_s, fmin(sum->first_s, sum->to_s));
    sum->n = (size_t)ceil(fmax(sum->to_s - sum->begin_s, 0) / BUCKET_MINUTE);
    sum->bytes = calloc(sum->n + 1, sizeof(*sum->bytes));
    sum->known = calloc(sum->n + 1, sizeof(*sum->known));
    return sum->bytes && sum->known ? 0 : sql_no_memory(store, error);
}

/* Includes records before the span, which may still cover its beginning. */
static int find_first(struct store *store, struct adding_up *sum, struct error *error)
{
    int rc = see_beside(store, sum, sum->begin_s - 1, false, see_minute, error);

    for (size_t g = 0; g < sum->n_guests; g++)
        if (sum->guests[g].standing.has)
            sum->first_s = sum->begin_s;
    return rc == 0 ? see_beside(store, sum, sum->begin_s - 1, true, see_first, error) : rc;
}

static int add_guests(struct store *store, const struct history_query *query, struct adding_up *sum,
                      struct error *error)
{
    struct standing_span span;
    int rc = find_first(store, sum, error);

    if (rc == 0)
        rc = make_minutes(store, sum, error);
    if (rc == 0)
        rc = history_buckets(store, query, see_minute, sum, error);
    if (rc == 0)
        rc = see_beside(store, sum, query->to_s, true, see_minute, error);
    for (size_t g = 0; rc == 0 && g < sum->n_guests; g++)
        if (standing_end(&sum->guests[g].standing, &span))
            add_span(sum, &span);
    return rc;
}

static int put(struct host_needs *needs, const struct host_need *need)
{
    return array_put(&needs->all, &needs->n, need, sizeof(*needs->all));
}

static int take_minutes(struct store *store, const struct adding_up *sum, struct host_needs *needs,
                        struct error *error)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sum->n; i++) {
        const struct host_need need = {.start_s = sum->begin_s + (double)i * BUCKET_MINUTE,
                                       .bytes = sum->bytes[i]};

        if (sum->known[i])
            rc = put(needs, &need);
    }
    return rc < 0 ? sql_no_memory(store, error) : 0;
}

static int read_minutes(struct store *store, const char *host, const struct history_query *query,
                        struct host_needs *needs, struct error *error)
{
    struct adding_up sum = {.window_s = query->window_s, .to_s = query->to_s};
    const double from_s = (double)bucket_start(sql_whole(query->from_s), BUCKET_MINUTE);
    const struct history_query from_minute = {BUCKET_MINUTE, from_s, query->to_s, query->window_s};
    int rc = choose_guests(store, host, query->to_s, &sum, error);

    sum.begin_s = from_s;
    sum.first_s = HUGE_VAL;
    if (rc == 0)
        rc = add_guests(store, &from_minute, &sum, error);
    if (rc == 0)
        rc = take_minutes(store, &sum, needs, error);
    for (size_t g = 0; g < sum.n_guests; g++)
        standing_events_free(&sum.guests[g].standing.events);
    free(sum.guests);
    free(sum.bytes);
    free(sum.known);
    return rc;
}

/* --- hours ------------------------------------------------------------------------------------ */

/* Takes "[minute, bytes, ...]", minutes ascending, as host_need.c writes it. */
static int take_hour(struct host_needs *needs, double start_s, const char *text)
{
    struct numbers numbers = {text, text + strlen(text)};
    uint64_t minute;
    uint64_t bytes;
    uint64_t least = 0;
    int rc = 0;

    if (!numbers_take(&numbers, '['))
        return -EUCLEAN;
    do {
        if (!numbers_whole(&numbers, &minute) || !numbers_take(&numbers, ',') ||
            !numbers_whole(&numbers, &bytes) || minute < least ||
            minute >= BUCKET_HOUR / BUCKET_MINUTE)
            return -EUCLEAN;
        least = minute + 1;

        const struct host_need need = {.start_s = start_s + (double)minute * BUCKET_MINUTE,
                                       .bytes = (double)bytes};

        rc = put(needs, &need);
    } while (rc == 0 && numbers_take(&numbers, ','));
    if (rc == 0 && (!numbers_take(&numbers, ']') || !numbers_done(&numbers)))
        rc = -EUCLEAN;
    return rc;
}

/* Takes an hour of which only the distribution is stored: each value gets as many minutes as the
 * distribution has. The order of the minutes, and the exact value within a bin, are lost. */
static int take_distribution(struct host_needs *needs, double start_s,
                             const struct bucket_window *window)
{
    cleanup_free struct sketch_step *steps = calloc(SKETCH_BINS, sizeof(*steps));
    struct host_need need = {.start_s = start_s, .rough = true};
    uint64_t done = 0;
    int rc = steps ? 0 : -ENOMEM;

    for (size_t i = 0, n = steps ? sketch_steps(&window->sketch, steps) : 0; rc == 0 && i < n; i++)
        for (; rc == 0 && done < (uint64_t)llround(steps[i].up_to * (double)window->records);
             done++) {
            need.bytes = done + 1 < window->records ? steps[i].value : (double)window->sketch.max;
            rc = put(needs, &need);
            need.start_s += BUCKET_MINUTE;
        }
    return rc;
}

/* Columns: start, minutes of the hour or NULL, distributions of its windows. */
static int read_hour(struct host_needs *needs, sqlite3_stmt *row, struct bucket *bucket,
                     double window_s)
{
    const char *minutes = (const char *)sqlite3_column_text(row, 1);
    const char *windows = (const char *)sqlite3_column_text(row, 2);
    const struct bucket_window *window;
    int64_t start_s;

    if (sql_i64(row, 0, &start_s) < 0)
        return -EUCLEAN;
    if (minutes)
        return take_hour(needs, (double)start_s, minutes);
    bucket_clear(bucket);
    if (!windows || bucket_windows_parse(bucket, windows, strlen(windows), window_s) < 0)
        return -EUCLEAN;
    window = bucket_find(bucket, window_s);
    return window ? take_distribution(needs, (double)start_s, window) : 0;
}

#define HOURS(minutes, join)                                                          \
    "SELECT n.start_s, " minutes ", n.windows FROM host_need n " join                 \
    " WHERE n.level_s = 3600 AND n.start_s >= ?1 AND n.start_s <= ?2 AND n.host = ?3" \
    " AND ?4 > 0 ORDER BY n.start_s"
#define SAME_HOUR                                                            \
    "LEFT JOIN host_minutes m ON m.level_s = 3600 AND m.start_s = n.start_s" \
    " AND m.host = n.host AND m.window_ms = ?4"

static int read_hours(struct store *store, const char *host, const struct history_query *query,
                      struct host_needs *needs, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    cleanup_free struct bucket *bucket = malloc(sizeof(*bucket));
    int rc = schema_has(store, "host_need", error);

    if (rc <= 0)
        return rc;
    rc = schema_has(store, "host_minutes", error);
    if (rc >= 0)
        rc = sql_prepare(store, rc ? HOURS("m.needs", SAME_HOUR) : HOURS("NULL", ""), &statement,
                         error);
    if (rc < 0)
        return rc;
    if (!bucket)
        return sql_no_memory(store, error);
    sql_bind_all(statement, 1, bucket_start(sql_whole(query->from_s), BUCKET_HOUR),
                 sql_whole(query->to_s));
    sql_bind_text(statement, 3, host);
    sqlite3_bind_int64(statement, 4, llround(query->window_s * 1000));
    while (rc == 0 && (rc = sql_step(store, statement, error)) == 1) {
        rc = read_hour(needs, statement, bucket, query->window_s);
        if (rc < 0)
            return error_set(error, rc,
                             "%s: a row of the joint need of a host's guests is invalid, or there "
                             "is no memory",
                             store->path);
    }
    return rc;
}

/* --- both ------------------------------------------------------------------------------------- */

int host_needs_read(struct store *store, const char *host, const struct history_query *query,
                    struct host_needs *needs, struct error *error)
{
    *needs = (struct host_needs){0};
    return query->level_s == BUCKET_MINUTE ? read_minutes(store, host, query, needs, error)
                                           : read_hours(store, host, query, needs, error);
}

void host_needs_free(struct host_needs *needs)
{
    free(needs->all);
    *needs = (struct host_needs){0};
}
