// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file roster_read.c  See roster.h: reads one file. */
#include "decide/plan/roster.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "history/bucket_need.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One guest of the file, while its hours are read. */
struct guest_hours {
    struct roster_row row;
    /* sketch of the WSS's upper bound at row.size_window_s, weighted by time */
    struct sketch sketch;
};

struct file {
    struct roster *roster;
    const struct plan_reading *reading;
    size_t source;
    struct store *store;
    const struct history_guest *guests; /* ordered by id */
    size_t n;
    struct guest_hours *of; /* hours of each guest */
};

/* Records up to this old may still hold when the span begins. */
#define STANDS_MAX_S (96 * 3600.0)

/* --- its hours -------------------------------------------------------------------------------- */

/* Sizes at shorter windows are dropped when there is a longer one. */
static void add_size(struct guest_hours *guest, const struct bucket *bucket)
{
    uint64_t bytes;
    const struct bucket_window *window = bucket_size(bucket, &bytes);
    double *window_s = &guest->row.size_window_s;

    if (!window || window->window_s < *window_s - SAME_S)
        return;
    if (window->window_s > *window_s + SAME_S) {
        sketch_clear(&guest->sketch);
        *window_s = window->window_s;
    }
    sketch_add(&guest->sketch, bytes, bucket->period_ms);
}

static int compare_id(const void *a, const void *b)
{
    int64_t x = ((const struct history_guest *)a)->id;
    int64_t y = ((const struct history_guest *)b)->id;

    return (x > y) - (x < y);
}

static int see_hour(int64_t id, int64_t start_s, const struct bucket *bucket, void *context)
{
    const struct file *file = context;
    const struct history_guest key = {.id = id};
    const struct history_guest *found = bsearch(&key, file->guests, file->n, sizeof(key),
                                                compare_id);
    const double lasts_s = bucket_lasts_s(bucket_period_s(bucket));
    struct guest_hours *guest;

    if (!found || bucket->summary.ram_bytes <= 0 ||
        (double)start_s + fmax(lasts_s, BUCKET_HOUR) <= file->reading->from_s)
        return 0;
    guest = &file->of[found - file->guests];
    guest->row.lasts_s = lasts_s;
    guest->row.ram_bytes = (uint64_t)bucket->summary.ram_bytes;
    guest->row.ram = roster_range_with(guest->row.ram, guest->row.ram_bytes);
    guest->row.unmeasured = bucket->summary.flags & FLAG_NOT_MEASURED && bucket->n_windows == 0;
    roster_mark_hour(&guest->row, (double)start_s, file->reading->to_s);
    add_size(guest, bucket);
    return 0;
}

/* --- into the roster -------------------------------------------------------------------------- */

/* Reads what only the last record has. */
static int read_latest(const struct file *file, struct roster_row *row, struct error *error)
{
    cleanup_free struct kept_sample *kept = malloc(sizeof(*kept));
    int rc = kept ? history_latest_of(file->store, row->id, kept, error) : -ENOMEM;

    if (rc == 1) {
        row->resident_bytes = kept->record.sample.resident_bytes;
        row->accel = kept->record.sample.accel;
    }
    if (rc == 1 && kept->record.sample.guest.source != GUEST_STATS_NONE &&
        kept->record.sample.guest.used_bytes != AGENT_UNKNOWN)
        row->used_bytes = smaller(kept->record.sample.guest.used_bytes, row->ram_bytes);
    return rc < 0 ? rc : 0;
}

static int read_event(const struct file *file, struct roster_row *row, struct error *error)
{
    int rc = history_last_event(file->store, row->id, file->reading->to_s, &row->event,
                                &row->event_s, error);

    row->has_event = rc == 1;
    return rc < 0 ? rc : 0;
}

static int several_hosts(const struct plan_source *from, const char *a, const char *b,
                         struct error *error)
{
    return error_set(error, -ENOTUNIQ,
                     "%s=%s: it is the history of several hosts, %s and %s among them: give the "
                     "file without a name",
                     from->host, from->path, a, b);
}

static int add_guest(const struct file *file, const struct history_guest *guest,
                     struct guest_hours *hours, struct error *error)
{
    const struct plan_source *from = &file->reading->sources[file->source];
    struct roster_row *row = &hours->row;
    ssize_t host = roster_host(file->roster, file->reading, file->source,
                               from->host ? from->host : guest->host, error);
    int rc;

    if (host < 0)
        return (int)host;
    row->id = guest->id;
    row->source = file->source;
    row->host = (size_t)host;
    row->size_bytes = sketch_quantile(&hours->sketch, plan_size_quantile(file->reading));
    snprintf(row->name, sizeof(row->name), "%s", guest->name);
    rc = read_event(file, row, error);
    if (rc == 0)
        rc = read_latest(file, row, error);
    return rc < 0 ? rc : roster_add(file->roster, file->reading, row, guest->uuid, error);
}

/* Leaves out guests without an hour in the span, and their hosts, such as the old name of a renamed
 * host. */
static int add_guests(const struct file *file, size_t *added, struct error *error)
{
    const struct plan_source *from = &file->reading->sources[file->source];
    const char *host = NULL;
    int rc = 0;

    *added = 0;
    for (size_t i = 0; rc == 0 && i < file->n; i++) {
        if (file->of[i].row.last_s == 0)
            continue;
        if (from->host && host && strcmp(file->guests[i].host, host) != 0)
            return several_hosts(from, host, file->guests[i].host, error);
        host = file->guests[i].host;
        rc = add_guest(file, &file->guests[i], &file->of[i], error);
        ++*added;
    }
    return rc;
}

/* --- nothing of that time --------------------------------------------------------------------- */

/* Returns 1 if all guests in the file have ended. */
static int all_ended(const struct file *file, struct error *error)
{
    double ended_s;
    int rc = 1;

    for (size_t i = 0; rc == 1 && i < file->n; i++)
        rc = history_ended(file->store, file->guests[i].id, file->reading->to_s, &ended_s, error);
    return rc;
}

/* Returns NULL if no name was given and the guests do not show it. */
static const char *only_host(const struct file *file)
{
    const char *given = file->reading->sources[file->source].host;

    for (size_t i = 0; !given && i < file->n; i++)
        if (strcmp(file->guests[i].host, file->guests[0].host) != 0)
            return NULL;
    return given || file->n == 0 ? given : file->guests[0].host;
}

/* Adds a host without guests: it may receive some. */
static int add_empty(const struct file *file, struct error *error)
{
    const char *path = file->reading->sources[file->source].path;
    const char *host = only_host(file);
    int rc = all_ended(file, error);
    ssize_t index;

    if (rc < 0)
        return rc;
    if (rc == 0)
        return error_set(error, -ENODATA,
                         "%s: nothing is kept of that time: is vmwssd running there? Or look "
                         "further back with --since",
                         path);
    if (!host)
        return error_set(error, -ENODATA,
                         "%s: no guest was there in that time: name the empty host, as in HOST=%s, "
                         "or look further back with --since",
                         path, path);
    index = roster_host(file->roster, file->reading, file->source, host, error);
    return index < 0 ? (int)index : 0;
}

/* --- the file --------------------------------------------------------------------------------- */

static int read_file(struct file *file, struct error *error)
{
    const struct history_query query = {BUCKET_HOUR, file->reading->from_s - STANDS_MAX_S,
                                        file->reading->to_s, 0};
    size_t added;
    int rc;

    for (size_t i = 0; i < file->n; i++)
        sketch_clear(&file->of[i].sketch);
    rc = file->n > 0 ? history_buckets(file->store, &query, see_hour, file, error) : 0;
    if (rc == 0)
        rc = add_guests(file, &added, error);
    return rc == 0 && added == 0 ? add_empty(file, error) : rc;
}

int roster_read(struct roster *roster, const struct plan_reading *reading, size_t source,
                struct store *store, struct error *error)
{
    cleanup_free struct history_guest *guests = NULL;
    ssize_t n = history_guests(store, &guests, error);

    if (n < 0)
        return (int)n;

    cleanup_free struct guest_hours *of = calloc((size_t)n + 1, sizeof(*of));
    struct file file = {roster, reading, source, store, guests, (size_t)n, of};

    if (!of)
        return error_set(error, -ENOMEM, "%s: out of memory", reading->sources[source].path);
    if (n > 0)
        qsort(guests, (size_t)n, sizeof(*guests), compare_id);
    return read_file(&file, error);
}
