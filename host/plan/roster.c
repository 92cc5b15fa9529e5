// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file roster.c  See roster.h. */
#include "plan/roster.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "keep/event.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The window of sizes (fleet.h: what a guest needs within an hour it should have). */
#define SIZE_WINDOW_S 3600

/* With room for one element more, at its end; NULL when out of memory. */
static void *grow(void *array, size_t n, size_t size)
{
    if ((n & (n - 1)) != 0) /* full at the powers of two */
        return array;
    return reallocarray(array, n == 0 ? 1 : 2 * n, size);
}

/* --- who is in the file ----------------------------------------------------------------------- */

static ssize_t host_index(struct roster *roster, const char *name)
{
    struct plan_host *host;

    for (size_t h = 0; h < roster->n_hosts; h++)
        if (strcmp(roster->hosts[h].name, name) == 0)
            return (ssize_t)h;
    host = grow(roster->hosts, roster->n_hosts, sizeof(*host));
    if (!host)
        return -ENOMEM;
    roster->hosts = host;
    host += roster->n_hosts++;
    *host = (struct plan_host){0};
    snprintf(host->name, sizeof(host->name), "%s", name);
    return (ssize_t)(roster->n_hosts - 1);
}

static ssize_t guest_index(struct roster *roster, const struct history_guest *from, size_t host)
{
    struct roster_guest *guest;

    for (size_t g = 0; g < roster->n_guests; g++)
        if (strcmp(roster->guests[g].guest.uuid, from->uuid) == 0)
            return (ssize_t)g;
    guest = grow(roster->guests, roster->n_guests, sizeof(*guest));
    if (!guest)
        return -ENOMEM;
    roster->guests = guest;
    guest += roster->n_guests++;
    memset(guest, 0, sizeof(*guest));
    snprintf(guest->guest.name, sizeof(guest->guest.name), "%s", from->name);
    snprintf(guest->guest.uuid, sizeof(guest->guest.uuid), "%s", from->uuid);
    guest->guest.host = host;
    return (ssize_t)(roster->n_guests - 1);
}

static int compare_row(const void *a, const void *b)
{
    const struct roster_row *x = a;
    const struct roster_row *y = b;

    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* One guest of the file, while its hours are read. */
struct guest_hours {
    struct sketch sketch; /* of the WSS's upper bound, weighted by time */
    double first_s, last_s;
    uint64_t ram_bytes;
    bool unmeasured;
};

struct hours {
    struct roster *roster;
    size_t source;
    size_t first_row, n; /* the file's rows */
    struct guest_hours *of;
};

/* --- their hours ------------------------------------------------------------------------------ */

/* The largest WSS of the hour, as far above the truth as the bound is on average. */
static uint64_t upper_bound(const struct bucket *bucket)
{
    const struct bucket_window *window = &bucket->windows[0];
    const double spread = window->wss > 0 ? fmax(window->wss_high / window->wss, 1) : 1;
    const double largest = fmax((double)window->sketch.max * spread, window->wss_high);

    return (uint64_t)fmin(largest, bucket->summary.ram_bytes);
}

static int see_hour(int64_t id, int64_t start_s, const struct bucket *bucket, void *context)
{
    const struct hours *hours = context;
    const struct roster_row key = {.id = id, .source = hours->source};
    const struct roster_row *rows = hours->roster->rows + hours->first_row;
    const struct roster_row *row = bsearch(&key, rows, hours->n, sizeof(key), compare_row);
    struct guest_hours *guest;

    if (!row || bucket->summary.ram_bytes <= 0)
        return 0;
    guest = &hours->of[row - rows];
    if (guest->first_s == 0)
        guest->first_s = (double)start_s;
    guest->last_s = (double)start_s;
    guest->ram_bytes = (uint64_t)bucket->summary.ram_bytes;
    guest->unmeasured = bucket->summary.flags & FLAG_NOT_MEASURED && bucket->n_windows == 0;
    if (bucket->n_windows > 0)
        sketch_add(&guest->sketch, upper_bound(bucket), bucket->period_ms);
    return 0;
}

/* The longest window up to an hour that is kept. */
static int size_window(struct store *store, double *window_s, struct error *error)
{
    double windows[RUN_MAX_WINDOWS];
    ssize_t n = history_windows(store, 0, windows, error);

    *window_s = 0;
    for (ssize_t w = 0; w < n; w++)
        if (windows[w] <= SIZE_WINDOW_S)
            *window_s = fmax(*window_s, windows[w]);
    return n < 0 ? (int)n : 0;
}

/* --- into the roster -------------------------------------------------------------------------- */

static int read_used(struct store *store, int64_t id, struct plan_guest *guest, struct error *error)
{
    cleanup_free struct kept_sample *kept = malloc(sizeof(*kept));
    int rc = kept ? history_latest_of(store, id, kept, error) : -ENOMEM;

    if (rc == 1 && kept->record.sample.guest.source != WORD_NONE &&
        kept->record.sample.guest.used_bytes != AGENT_UNKNOWN)
        guest->used_bytes = smaller(kept->record.sample.guest.used_bytes, guest->ram_bytes);
    return rc < 0 ? rc : 0;
}

/* The file with the last record says what the guest is and has; the largest size counts. */
static int merge(struct roster *roster, const struct plan_reading *reading,
                 const struct guest_hours *hours, const struct roster_row *row, size_t host,
                 struct store *store, struct error *error)
{
    struct roster_guest *guest = &roster->guests[row->guest];
    double ended_s;
    int rc;

    if (hours->last_s == 0)
        return 0;
    if (roster->first_s == 0 || hours->first_s < roster->first_s)
        roster->first_s = hours->first_s;
    roster->hosts[host].last_s = fmax(roster->hosts[host].last_s, hours->last_s);
    guest->guest.size_p99_bytes = fmax(guest->guest.size_p99_bytes,
                                       sketch_quantile(&hours->sketch, 0.99));
    if (hours->last_s < guest->last_s)
        return 0;
    rc = history_ended(store, row->id, reading->to_s, &ended_s, error);
    if (rc < 0)
        return rc;
    guest->ended = rc == 1;
    guest->last_s = hours->last_s;
    guest->guest.host = host;
    guest->guest.ram_bytes = hours->ram_bytes;
    guest->guest.unmeasured = hours->unmeasured;
    return read_used(store, row->id, &guest->guest, error);
}

/* All guests of the file get a row. */
static int add_rows(struct roster *roster, const struct plan_reading *reading, size_t source,
                    const struct history_guest *guests, size_t n, size_t *host_of,
                    struct error *error)
{
    const struct plan_source *from = &reading->sources[source];

    for (size_t i = 0; i < n; i++) {
        const char *name = from->host ? from->host : guests[i].host;
        ssize_t host = host_index(roster, name);
        ssize_t guest = host < 0 ? -1 : guest_index(roster, &guests[i], (size_t)host);
        struct roster_row *row;

        if (from->host && strcmp(guests[i].host, guests[0].host) != 0)
            return error_set(error, -ENOTUNIQ,
                             "%s=%s: it is the history of several hosts, %s and %s among them: "
                             "give the file without a name",
                             from->host, from->path, guests[0].host, guests[i].host);
        row = guest < 0 ? NULL : grow(roster->rows, roster->n_rows, sizeof(*row));
        if (!row)
            return error_set(error, -ENOMEM, "%s: out of memory", from->path);
        roster->rows = row;
        row[roster->n_rows++] = (struct roster_row){guests[i].id, source, (size_t)guest};
        host_of[i] = (size_t)host;
    }
    return 0;
}

static int read_hours(struct hours *hours, const struct plan_reading *reading, struct store *store,
                      struct error *error)
{
    struct history_query query = {BUCKET_HOUR, reading->from_s, reading->to_s, 0};
    int rc = size_window(store, &query.window_s, error);

    for (size_t i = 0; i < hours->n; i++)
        sketch_clear(&hours->of[i].sketch);
    return rc < 0 ? rc : history_buckets(store, &query, see_hour, hours, error);
}

static int compare_id(const void *a, const void *b)
{
    int64_t x = ((const struct history_guest *)a)->id;
    int64_t y = ((const struct history_guest *)b)->id;

    return (x > y) - (x < y);
}

static int read_all(struct hours *hours, const struct plan_reading *reading, struct store *store,
                    const struct history_guest *guests, size_t *host_of, struct error *error)
{
    struct roster *roster = hours->roster;
    int rc = add_rows(roster, reading, hours->source, guests, hours->n, host_of, error);
    bool any = false;

    if (rc == 0)
        rc = read_hours(hours, reading, store, error);
    for (size_t i = 0; rc == 0 && i < hours->n; i++) {
        any |= hours->of[i].last_s > 0;
        rc = merge(roster, reading, &hours->of[i], &roster->rows[hours->first_row + i], host_of[i],
                   store, error);
    }
    if (rc == 0 && !any)
        return error_set(error, -ENODATA,
                         "%s: nothing is kept of that time: is vmwssd running there? Or look "
                         "further back with --since",
                         reading->sources[hours->source].path);
    return rc;
}

int roster_read(struct roster *roster, const struct plan_reading *reading, size_t source,
                struct store *store, struct error *error)
{
    cleanup_free struct history_guest *guests = NULL;
    ssize_t n = history_guests(store, &guests, error);

    if (n < 0)
        return (int)n;

    cleanup_free size_t *host_of = calloc((size_t)n + 1, sizeof(*host_of));
    cleanup_free struct guest_hours *of = calloc((size_t)n + 1, sizeof(*of));
    struct hours hours = {roster, source, roster->n_rows, (size_t)n, of};

    if (!host_of || !of)
        return error_set(error, -ENOMEM, "%s: out of memory", reading->sources[source].path);
    if (n > 0)
        qsort(guests, (size_t)n, sizeof(*guests), compare_id);
    return read_all(&hours, reading, store, guests, host_of, error);
}

/* --- who is there ----------------------------------------------------------------------------- */

size_t roster_number(struct roster *roster, double to_s)
{
    size_t n = 0;

    for (size_t h = 0; h < roster->n_hosts; h++)
        roster->hosts[h].stale = roster->hosts[h].last_s + BUCKET_HOUR + PLAN_RECENT_S < to_s;
    for (size_t g = 0; g < roster->n_guests; g++) {
        struct roster_guest *guest = &roster->guests[g];
        const struct plan_host *host = &roster->hosts[guest->guest.host];

        guest->number = PLAN_NOT_THERE;
        if (guest->last_s > 0 && !guest->ended && guest->last_s + PLAN_RECENT_S >= host->last_s)
            guest->number = n++;
    }
    return n;
}

struct roster_guest *roster_find(const struct roster *roster, size_t source, int64_t id)
{
    const struct roster_row key = {.id = id, .source = source};
    const struct roster_row *row = bsearch(&key, roster->rows, roster->n_rows, sizeof(key),
                                           compare_row);

    return row ? &roster->guests[row->guest] : NULL;
}

void roster_free(struct roster *roster)
{
    free(roster->hosts);
    free(roster->guests);
    free(roster->rows);
    *roster = (struct roster){0};
}
