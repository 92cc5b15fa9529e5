// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file report.c  See report.h: walks over the buckets once, ordered by time. */
#include "history/report.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "history/history.h"
#include "history/open_store.h"
#include "history/report_options.h"
#include "history/report_private.h"
#include "history/sql.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* --- the host, and minutes or hours ----------------------------------------------------------- */

/* Finds the start of a level's first bucket in the span; the end of the span if it has none. */
static int first_time(struct store *store, const struct report_options *options, int level_s,
                      double *from_s, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    double floor_s = fmax(options->from_s, 0);
    int rc = sql_prepare_with(store,
                              "SELECT start_s FROM bucket WHERE level_s = ? AND start_s >= ?"
                              " ORDER BY start_s LIMIT 1",
                              &statement, error, level_s,
                              (int64_t)fmin(floor_s, 9e15) / level_s * level_s);

    if (rc == 0)
        rc = sql_step(store, statement, error);
    *from_s = rc == 1 ? fmax((double)sqlite3_column_int64(statement, 0), floor_s) : options->to_s;
    return rc < 0 ? rc : 0;
}

/* Chooses minutes if they are kept for the whole span, because they have each guest's part of a
 * sum; otherwise hours. *from_s: start of the first minute or hour in the span. */
static int report_level(struct store *store, const struct report_options *options, int *level_s,
                        double *from_s, struct error *error)
{
    double minutes_s;
    int rc = first_time(store, options, BUCKET_HOUR, from_s, error);

    if (rc == 0)
        rc = first_time(store, options, BUCKET_MINUTE, &minutes_s, error);
    if (rc == 0) {
        const bool any = minutes_s < options->to_s;

        *level_s = any && minutes_s <= *from_s + BUCKET_HOUR ? BUCKET_MINUTE : BUCKET_HOUR;
    }
    return rc;
}

/* Returns -ENODATA; the message names the existing windows instead of the requested one. */
static int report_nothing(struct store *store, const struct report_options *options,
                          struct error *error)
{
    char list[HISTORY_WINDOWS_TEXT];
    ssize_t n = history_windows_text(store, list, error);

    if (n < 0)
        return (int)n;
    return error_set(error, -ENODATA,
                     "%s: there are no records of this time with a window of %g s%s%s", store->path,
                     options->window_s, n ? "; recent windows: " : "", list);
}

/* Keeps the guests of one host in the array, and puts its name in @p host; returns their number.
 * Returns -ENOTUNIQ: there are several hosts and none was chosen; -ENOENT: the host has no
 * records. */
static ssize_t report_choose_host(const struct report_options *options,
                                  struct history_guest *guests, ssize_t n, char host[256],
                                  struct error *error)
{
    ssize_t kept = 0;

    snprintf(host, 256, "%s", options->host ? options->host : n > 0 ? guests[0].host : "");
    for (ssize_t i = 0; i < n; i++) {
        if (strcmp(guests[i].host, host) == 0)
            guests[kept++] = guests[i];
        else if (!options->host)
            return error_set(error, -ENOTUNIQ,
                             "it is the history of several hosts, %s and %s among them: choose "
                             "with --host",
                             host, guests[i].host);
    }
    if (kept == 0 && options->host)
        return error_set(error, -ENOENT, "host %s: no records of it are kept", options->host);
    return kept;
}

/* Total number of draws: the standard error of a share of 1 % is then 0.07 points. */
#define DRAWS 20000
#define SEED 0x766d777373656564ULL /* a fixed seed makes reports reproducible */

/* --- the walk --------------------------------------------------------------------------------- */

/* Returns the minutes of the current time with a known sum: one, or up to sixty for an hour. *n is
 * 0 in a gap, and in an hour without stored sums. */
static const struct host_need *needs_now(struct walk *walk, size_t *n)
{
    const struct host_needs *needs = &walk->needs;
    size_t first;

    while (walk->next_need < needs->n && needs->all[walk->next_need].start_s < walk->time_s)
        walk->next_need++;
    first = walk->next_need;
    while (walk->next_need < needs->n &&
           needs->all[walk->next_need].start_s < walk->time_s + walk->report->level_s)
        walk->next_need++;
    *n = walk->next_need - first;
    return *n > 0 ? needs->all + first : NULL;
}

static void note_draw(struct walk *walk, double total, size_t n_present)
{
    const struct report_options *options = &walk->report->options;

    if (walk->n_draws == walk->room)
        return;
    walk->totals[walk->n_draws++] = total;
    if (options->capacity_bytes && options->guest_bytes && n_present > 0)
        walk->fits[walk->n_fits++] = packing_fit(walk->present, n_present,
                                                 (double)options->capacity_bytes - total,
                                                 (double)options->guest_bytes, &walk->state);
}

static void note_minutes(struct walk *walk, const struct host_need *needs, size_t n,
                         size_t n_present)
{
    const size_t each = walk->draws_each / (size_t)(walk->report->level_s / BUCKET_MINUTE);

    for (size_t i = 0; i < n; i++) {
        for (size_t d = 0; d < each; d++)
            note_draw(walk, needs[i].bytes, n_present);
        shortage_note(&walk->report->shortage, &needs[i]);
    }
    walk->report->known_s += (double)n * BUCKET_MINUTE;
}

/* Handles an hour without stored sums: draws one value of that hour for each guest. */
static void draw_hour(struct walk *walk, size_t n_present)
{
    const size_t first = walk->n_draws;
    size_t n_short = 0;

    for (size_t i = 0; i < walk->draws_each; i++)
        note_draw(walk, packing_total(walk->present, n_present, &walk->state), n_present);
    for (size_t i = first; i < walk->n_draws; i++)
        n_short += walk->totals[i] > walk->report->shortage.capacity_bytes;
    if (walk->n_draws > first)
        shortage_note_hour(&walk->report->shortage,
                           (double)n_short / (double)(walk->n_draws - first));
    walk->report->known_s += BUCKET_HOUR;
}

static size_t find_present(struct walk *walk)
{
    double assumed_bytes = 0;
    size_t n = 0;

    for (size_t g = 0; g < walk->n; g++) {
        const struct walked *guest = &walk->guests[g];

        if (!walked_is_present(walk, guest))
            continue;
        walk->present[n++] = (struct packing_guest){guest->steps, guest->n_steps,
                                                    (double)guest->out->ram_bytes};
        assumed_bytes += guest->assumed_bytes;
    }
    walk->report->assumed_bytes = fmax(walk->report->assumed_bytes, assumed_bytes);
    return n;
}

/* Ends a time: all its buckets have been seen. */
static void end_time(struct walk *walk)
{
    const struct report_options *options = &walk->report->options;
    const size_t n_present = find_present(walk);
    size_t n;
    const struct host_need *needs = needs_now(walk, &n);

    if (n > 0)
        note_minutes(walk, needs, n, n_present);
    else if (n_present > 0 && walk->report->level_s == BUCKET_HOUR)
        draw_hour(walk, n_present);
    if (options->progress)
        options->progress((walk->time_s - walk->report->from_s) /
                              fmax(options->to_s - walk->report->from_s, 1),
                          options->context);
    walk->n_times++;
}

/* Handles times without a bucket that an earlier or later record covers. */
static void pass_times(struct walk *walk, double until_s)
{
    const struct host_needs *needs = &walk->needs;
    const int level_s = walk->report->level_s;

    while (walk->next_need < needs->n && needs->all[walk->next_need].start_s < until_s) {
        walk->time_s = floor(needs->all[walk->next_need].start_s / level_s) * level_s;
        end_time(walk);
    }
}

static void begin_times(struct walk *walk, double start_s)
{
    const struct host_needs *needs = &walk->needs;
    const int level_s = walk->report->level_s;

    walk->report->from_s = start_s;
    if (needs->n > 0)
        walk->report->from_s = fmin(start_s, floor(needs->all[0].start_s / level_s) * level_s);
    pass_times(walk, start_s);
}

static int report_see(int64_t guest_id, int64_t start_s, const struct bucket *bucket, void *context)
{
    struct walk *walk = context;
    struct walked *guest = walk_find_guest(walk, guest_id);

    if (!guest || (bucket->n_windows == 0 && !(bucket->summary.flags & FLAG_NOT_MEASURED)))
        return 0;
    if (walk->time_s >= 0 && (double)start_s > walk->time_s) {
        end_time(walk);
        pass_times(walk, (double)start_s);
    }
    if (walk->time_s < 0)
        begin_times(walk, (double)start_s);
    walk->time_s = (double)start_s;
    return walked_take(guest, start_s, bucket);
}

/* --- results ---------------------------------------------------------------------------------- */

static void finish_host(struct walk *walk)
{
    struct report *report = walk->report;
    size_t short_of = 0;

    report->n_times = walk->n_times;
    report->to_s = walk->time_s + report->level_s;
    report->total_p50 = packing_quantile(walk->totals, walk->n_draws, 0.50);
    report->total_p95 = packing_quantile(walk->totals, walk->n_draws, 0.95);
    report->total_p99 = packing_quantile(walk->totals, walk->n_draws, 0.99);
    report->total_max = packing_quantile(walk->totals, walk->n_draws, 1);
    report->total_risk = packing_quantile(walk->totals, walk->n_draws, 1 - report->options.risk);
    for (size_t i = 0; i < walk->n_draws; i++)
        short_of += walk->totals[i] > report->shortage.capacity_bytes;
    report->short_share = (double)short_of / (double)walk->n_draws;
    if (walk->n_fits > 0)
        report->fit = packing_reached(walk->fits, walk->n_fits, report->options.risk);
}

/* --- together --------------------------------------------------------------------------------- */

/* Allocates the draws. Each hour gets a multiple of 60, so that all of its minutes have the same
 * weight. */
static int make_room(struct walk *walk, double span_s)
{
    const int level_s = walk->report->level_s;
    const double times = fmax(span_s, 0) / level_s + 2;

    if (times > 1e7)
        return -ENOMEM;
    walk->draws_each = (size_t)ceil(DRAWS * BUCKET_MINUTE / times / level_s) *
                       (size_t)(level_s / BUCKET_MINUTE);
    walk->room = walk->draws_each * ((size_t)times + 1);
    walk->totals = calloc(walk->room, sizeof(double));
    walk->fits = calloc(walk->room, sizeof(double));
    return walk->totals && walk->fits ? 0 : -ENOMEM;
}

static int walk_all(struct walk *walk, struct store *store, struct error *error)
{
    struct report *report = walk->report;
    const struct report_options *options = &report->options;
    double from_s;
    int rc = report_level(store, options, &report->level_s, &from_s, error);

    if (rc < 0)
        return rc;

    const struct history_query query = {report->level_s, from_s, options->to_s, options->window_s};
    struct history_query whole = query;

    /* The first record may cover time before it. */
    whole.from_s = fmin(fmax(options->from_s, 0), from_s);
    rc = host_needs_read(store, report->host, &whole, &walk->needs, error);
    if (rc < 0)
        return rc;
    if (walk->needs.n > 0)
        from_s = fmin(from_s, walk->needs.all[0].start_s);
    rc = make_room(walk, options->to_s - from_s);
    if (rc < 0)
        return error_set(error, rc, "%s: no memory for such a span", store->path);
    rc = history_buckets(store, &query, report_see, walk, error);
    if (rc == -ENOMEM)
        return error_set(error, rc, "%s: out of memory", store->path);
    if (rc < 0)
        return rc;
    if (walk->time_s >= 0) {
        end_time(walk);
        pass_times(walk, options->to_s);
    }
    if (walk->n_draws == 0)
        return report_nothing(store, options, error);
    walk_finish_guests(walk);
    finish_host(walk);
    return 0;
}

static void walk_free(struct walk *walk)
{
    for (size_t g = 0; g < walk->n; g++)
        free(walk->guests[g].steps);
    free(walk->guests);
    free(walk->present);
    free(walk->totals);
    free(walk->fits);
    host_needs_free(&walk->needs);
}

int report_make(struct store *store, const struct report_options *options, struct report *report,
                struct error *error)
{
    cleanup_free struct history_guest *guests = NULL;
    struct walk walk = {.report = report, .time_s = -1, .state = SEED};
    ssize_t n = history_guests(store, &guests, error);
    int rc;

    *report = (struct report){.options = *options,
                              .shortage.capacity_bytes = (double)options->capacity_bytes};
    if (n >= 0)
        n = report_choose_host(options, guests, n, report->host, error);
    if (n < 0)
        return (int)n;
    rc = walk_make_guests(&walk, guests, (size_t)n);
    rc = rc < 0 ? error_set(error, rc, "%s: out of memory", store->path)
                : walk_read_ends(&walk, store, error);
    if (rc == 0)
        rc = walk_all(&walk, store, error);
    if (rc == 0)
        rc = report_read_writes(report, store, error);
    walk_free(&walk);
    if (rc < 0)
        report_free(report);
    return rc;
}

void report_free(struct report *report)
{
    free(report->guests);
    report->guests = NULL;
}
