// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/plan/from_history.h"

#include "base/cleanup.h"
#include "base/text/units.h"
#include "decide/plan/from_prometheus.h"
#include "decide/plan/past.h"
#include "decide/plan/prom_client.h"
#include "decide/plan/read_writes.h"
#include "decide/plan/roster.h"
#include "history/bucket_beside.h"
#include "history/bucket_need.h"
#include "history/standing.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* Reading hours takes about this share of the time. */
#define HOURS_SHARE 0.05
/* Progress is reported once in this many minutes of history: a report costs as much as a minute. */
#define REPORT_EACH 1000

struct minutes {
    const struct plan_reading *reading;
    struct roster *roster;
    struct plan_fleet *fleet;
    size_t source, noted;
    double first_s;  /* Unix time of the first minute that the file has */
    double *known_s; /* for each guest: how long its need is known */
    struct minutes_guest *guests;
    struct store *store; /* the store being read, */
    struct error *error;
};

/* A guest while its minutes are read. */
struct minutes_guest {
    int64_t id; /* its ID in the history (it has two if the host was renamed); 0: none yet */
    struct standing_guest standing;
};

void plan_warn(const struct plan_reading *reading, const char *format, ...)
{
    char text[1000];
    va_list values;

    va_start(values, format);
    vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    if (reading->warn)
        reading->warn(text, reading->context);
}

static void report(const struct plan_reading *reading, double done)
{
    if (reading->progress)
        reading->progress(done, reading->context);
}

/* Reports the progress, 0 .. 1, of the source that is being read. */
static void report_source(double done, void *context)
{
    const struct minutes *minutes = context;
    const double sources = ((double)minutes->source + done) / (double)minutes->reading->n_sources;

    report(minutes->reading, HOURS_SHARE + (1 - HOURS_SHARE) * sources);
}

static double done_by(const struct minutes *minutes, double time_s)
{
    return (time_s - minutes->fleet->from_s) /
           fmax(minutes->reading->to_s - minutes->fleet->from_s, 1);
}

static void note_span(struct minutes *minutes, size_t guest, const struct standing_span *span)
{
    const double known_s = span->known_s - fmax(span->from_s, minutes->fleet->from_s);

    plan_note(minutes->fleet, guest, span->from_s, span->known_s - span->from_s, span->bytes);
    minutes->known_s[guest] += fmax(known_s, 0);
}

static int read_events(const struct minutes *minutes, struct minutes_guest *guest, int64_t id)
{
    if (guest->id == id)
        return 0;
    standing_events_free(&guest->standing.events);
    guest->id = id;
    guest->standing.forward = true;
    return standing_events_read(minutes->store, id, minutes->reading->to_s, &guest->standing.events,
                                minutes->error);
}

static int see_minute(int64_t id, int64_t start_s, const struct bucket *bucket, void *context)
{
    struct minutes *minutes = context;
    const struct roster_guest *guest = roster_find(minutes->roster, minutes->source, id);
    struct standing_span span;
    double bytes;
    int rc;

    minutes->first_s = fmin(minutes->first_s, (double)start_s);
    if (!guest || guest->number == PLAN_NOT_THERE || !bucket_need(bucket, &bytes))
        return 0;
    rc = read_events(minutes, &minutes->guests[guest->number], id);
    if (rc < 0)
        return rc;
    if (standing_next(&minutes->guests[guest->number].standing, start_s, bucket, &span))
        note_span(minutes, guest->number, &span);
    if (minutes->noted++ % REPORT_EACH == 0)
        report_source(done_by(minutes, (double)start_s), minutes);
    return 0;
}

/* Notes the largest need of an hour for all of it: whose minutes are not kept any more. */
static int see_hour(int64_t id, int64_t start_s, const struct bucket *bucket, void *context)
{
    struct minutes *minutes = context;
    const struct roster_guest *guest = roster_find(minutes->roster, minutes->source, id);
    struct standing_span span = {.from_s = (double)start_s,
                                 .known_s = (double)start_s + BUCKET_HOUR};

    if (guest && guest->number != PLAN_NOT_THERE && span.known_s <= minutes->first_s &&
        bucket_need(bucket, &span.bytes))
        note_span(minutes, guest->number, &span);
    return 0;
}

static int see_earlier(int64_t id, int64_t start_s, const struct bucket *bucket, void *context)
{
    struct minutes *minutes = context;
    const struct roster_guest *guest = roster_find(minutes->roster, minutes->source, id);
    double bytes;

    if (guest && guest->number != PLAN_NOT_THERE &&
        (double)start_s + BUCKET_HOUR <= minutes->reading->from_s && bucket_need(bucket, &bytes))
        plan_note_before(roster_before(minutes->roster, guest, minutes->fleet), (double)start_s,
                         bytes);
    return 0;
}

/* Lets the last record of each guest hold until its next one is due. */
static void end_minutes(struct minutes *minutes)
{
    struct standing_span span;

    for (size_t g = 0; g < minutes->fleet->n_guests + minutes->fleet->n_ended; g++) {
        struct minutes_guest *guest = &minutes->guests[g];

        if (standing_end(&guest->standing, &span))
            note_span(minutes, g, &span);
        standing_events_free(&guest->standing.events);
        guest->id = 0;
    }
}

/* Lists the windows that exist instead of the requested one. */
static int no_such_window(const struct plan_reading *reading, size_t source, struct store *store,
                          struct error *error)
{
    char list[HISTORY_WINDOWS_TEXT];
    ssize_t n = history_windows_text(store, list, error);

    return n < 0 ? (int)n
                 : error_set(error, -ENODATA,
                             "%s: no minutes are kept of that time with a window of %g s: choose "
                             "with --window; of late there are %s",
                             reading->sources[source].path, reading->window_s, list);
}

static bool has_guests(const struct roster *roster, size_t source)
{
    for (size_t r = 0; r < roster->n_rows; r++)
        if (roster->rows[r].source == source &&
            roster->guests[roster->rows[r].guest].number < roster->n_there)
            return true;
    return false;
}

/* Records from before the span may still hold when it begins. */
static int see_before(struct minutes *minutes, double from_s, struct error *error)
{
    const struct roster *roster = minutes->roster;
    struct bucket_beside beside;
    int rc = bucket_beside_begin(&beside, minutes->store, false, error);

    for (size_t r = 0; rc >= 0 && r < roster->n_rows; r++) {
        if (roster->rows[r].source != minutes->source)
            continue;
        rc = bucket_beside_read(&beside, roster->rows[r].id, (int64_t)from_s - 1,
                                minutes->reading->window_s, error);
        if (rc == 1)
            rc = see_minute(roster->rows[r].id, beside.start_s, beside.bucket, minutes);
    }
    bucket_beside_end(&beside);
    return rc < 0 ? rc : 0;
}

static int read_file_minutes(struct minutes *minutes, struct error *error)
{
    const struct plan_reading *reading = minutes->reading;
    struct history_query query = {BUCKET_MINUTE, reading->from_s, reading->to_s, reading->window_s};
    int rc = history_open(reading->sources[minutes->source].path, &minutes->store, error);

    if (rc < 0)
        return rc;
    minutes->noted = 0;
    minutes->first_s = reading->to_s;
    minutes->error = error;
    rc = see_before(minutes, reading->from_s, error);
    if (rc == 0)
        rc = history_buckets(minutes->store, &query, see_minute, minutes, error);
    end_minutes(minutes);
    query.level_s = BUCKET_HOUR;
    query.to_s = minutes->first_s;
    if (rc == 0 && minutes->noted > 0)
        rc = history_buckets(minutes->store, &query, see_hour, minutes, error);
    query.from_s = reading->from_s - PLAN_BEFORE_S;
    query.to_s = reading->from_s;
    if (rc == 0)
        rc = history_buckets(minutes->store, &query, see_earlier, minutes, error);
    if (rc == 0 && minutes->noted == 0 && has_guests(minutes->roster, minutes->source))
        rc = no_such_window(reading, minutes->source, minutes->store, error);
    if (rc == 0)
        rc = plan_read_writes(&(struct plan_writes_reading){reading, minutes->roster,
                                                            minutes->fleet, minutes->source},
                              minutes->store, error);
    store_close(minutes->store);
    return rc;
}

static int read_minutes(struct minutes *minutes, struct error *error)
{
    const struct url_minutes url = {.reading = minutes->reading,
                                    .roster = minutes->roster,
                                    .fleet = minutes->fleet,
                                    .source = minutes->source,
                                    .progress = report_source,
                                    .context = minutes};

    return prom_is_url(minutes->reading->sources[minutes->source].path)
               ? plan_read_url(&url, error)
               : read_file_minutes(minutes, error);
}

static int read_file_roster(const struct plan_reading *reading, struct roster *roster,
                            size_t source, struct error *error)
{
    struct store *store;
    int rc = history_open(reading->sources[source].path, &store, error);

    if (rc < 0)
        return rc;
    rc = roster_read(roster, reading, source, store, error);
    store_close(store);
    return rc;
}

static int read_roster(const struct plan_reading *reading, struct roster *roster,
                       struct error *error)
{
    int rc = 0;

    for (size_t s = 0; rc == 0 && s < reading->n_sources; s++) {
        rc = prom_is_url(reading->sources[s].path) ? roster_read_url(roster, reading, s, error)
                                                   : read_file_roster(reading, roster, s, error);
        report(reading, HOURS_SHARE * (double)(s + 1) / (double)reading->n_sources);
    }
    return rc;
}

/* Returns the time in which a guest that has ended may have needed memory, here or on a host that
 * it came from. The last record of its last hour may hold beyond that hour. */
static void span_of(const struct roster *roster, const struct roster_guest *guest, double *from_s,
                    double *to_s)
{
    const struct roster_row *row;

    *from_s = HUGE_VAL;
    *to_s = 0;
    for (size_t r = guest->first; r != PLAN_NOT_THERE; r = row->next) {
        row = &roster->rows[r];
        *from_s = fmin(*from_s, row->first_s);
        *to_s = fmax(*to_s, row->last_s + BUCKET_HOUR + row->lasts_s);
    }
}

static bool has_ended_on(const struct roster *roster, const struct roster_row *row, size_t host)
{
    const struct roster_guest *guest = &roster->guests[row->guest];

    return row->host == host && guest->number != PLAN_NOT_THERE && guest->number >= roster->n_there;
}

/* Returns the most CPUs that guests that have ended used on the host in one hour. */
static double cpus_of_ended(const struct roster *roster, size_t host)
{
    double cpus[ROSTER_HOURS] = {0};
    double most = 0;

    for (size_t r = 0; r < roster->n_rows; r++) {
        const struct roster_row *row = &roster->rows[r];

        if (!has_ended_on(roster, row, host))
            continue;
        for (size_t h = 0; h < ROSTER_HOURS; h++)
            if (row->hours[h / 64] >> h % 64 & 1)
                cpus[h] += fmax(roster->guests[row->guest].cpus, 0); /* 0: not known */
    }
    for (size_t h = 0; h < ROSTER_HOURS; h++)
        most = fmax(most, cpus[h]);
    return most;
}

static int make_ended(const struct plan_reading *reading, const struct roster *roster,
                      struct plan_fleet *fleet)
{
    int rc = plan_ended_make(fleet, roster->n_ended);

    for (size_t h = 0; reading->cpu_query && roster->n_ended > 0 && h < roster->n_hosts; h++)
        fleet->past[h].cpus = cpus_of_ended(roster, h);

    for (size_t g = 0; rc == 0 && g < roster->n_guests; g++) {
        const struct roster_guest *guest = &roster->guests[g];
        double from_s;
        double to_s;

        if (guest->number == PLAN_NOT_THERE || guest->number < roster->n_there)
            continue;
        span_of(roster, guest, &from_s, &to_s);
        rc = plan_ended_span(fleet, guest->number - roster->n_there,
                             roster->rows[guest->latest].host, from_s, to_s);
    }
    return rc;
}

/* Returns how many guests need as much memory as the series of all: ended ones have a float for
 * each step, but for a part of the time only, and each host has the sum of those. */
static size_t count_series(const struct roster *roster, double span_s)
{
    double n = (double)(roster->n_there + (roster->n_ended > 0 ? roster->n_hosts : 0));
    double from_s;
    double to_s;

    for (size_t g = 0; g < roster->n_guests; g++) {
        const struct roster_guest *guest = &roster->guests[g];

        if (guest->number == PLAN_NOT_THERE || guest->number < roster->n_there)
            continue;
        span_of(roster, guest, &from_s, &to_s);
        n += sizeof(float) * fmin((to_s - from_s) / fmax(span_s, 1), 1);
    }
    return (size_t)n;
}

static int make_fleet(const struct plan_reading *reading, struct roster *roster,
                      struct plan_fleet *fleet, struct error *error)
{
    const size_t n = roster_number(roster, reading);
    const double from_s = fmax(reading->from_s, roster->first_s);
    double end_s = from_s;
    int step_s = reading->step_s;
    int rc;

    for (size_t h = 0; h < roster->n_hosts; h++)
        end_s = fmax(end_s,
                     fmin(fmax(roster->hosts[h].host.last_s + BUCKET_HOUR, roster->hosts[h].due_s),
                          reading->to_s));
    if (step_s == 0)
        step_s = plan_step_s(end_s - from_s, count_series(roster, end_s - from_s));
    rc = plan_fleet_make(fleet, roster->n_hosts, n, from_s, end_s, step_s);
    if (rc == 0 && (rc = make_ended(reading, roster, fleet)) < 0)
        plan_fleet_free(fleet);
    if (rc < 0)
        return error_set(error, -ENOMEM,
                         "no memory for %zu guests over %.0f days: look less far "
                         "back with --since",
                         n, (end_s - from_s) / 86400);
    if (reading->size_margin > 0)
        fleet->size_margin = reading->size_margin;
    for (size_t h = 0; h < roster->n_hosts; h++)
        fleet->hosts[h] = roster->hosts[h].host;
    for (size_t g = 0; g < roster->n_guests; g++)
        if (roster->guests[g].number < n)
            fleet->guests[roster->guests[g].number] = roster_plan_guest(roster, &roster->guests[g]);
    return 0;
}

static double steps_known(const struct plan_fleet *fleet, size_t guest)
{
    const uint8_t *series = plan_series(fleet, guest);
    size_t n = 0;

    for (size_t t = 0; t < fleet->n_times; t++)
        n += series[t] != PLAN_CODE_NONE;
    return (double)n;
}

/* Sets the share of time without records of hosts read from files; a URL supplies its hosts'. */
static int count_missed(const struct minutes *minutes, struct error *error)
{
    const struct plan_fleet *fleet = minutes->fleet;
    cleanup_free double *steps_s = calloc(fleet->n_hosts + 1, sizeof(*steps_s));
    cleanup_free double *known_s = calloc(fleet->n_hosts + 1, sizeof(*known_s));

    if (!steps_s || !known_s)
        return error_set(error, -ENOMEM, "out of memory");
    for (size_t g = 0; g < fleet->n_guests; g++) {
        const double of_steps_s = steps_known(fleet, g) * fleet->step_s;

        if (minutes->known_s[g] == 0)
            continue;
        steps_s[fleet->guests[g].host] += of_steps_s;
        known_s[fleet->guests[g].host] += fmin(minutes->known_s[g], of_steps_s);
    }
    for (size_t h = 0; h < fleet->n_hosts; h++)
        if (steps_s[h] > 0 && fleet->step_s > BUCKET_MINUTE)
            fleet->hosts[h].missed_share = 1 - known_s[h] / steps_s[h];
    return 0;
}

static int read_all_minutes(struct minutes *minutes, struct error *error)
{
    const size_t n = minutes->fleet->n_guests + minutes->fleet->n_ended + 1;
    cleanup_free double *known_s = calloc(n, sizeof(*known_s));
    cleanup_free struct minutes_guest *guests = calloc(n, sizeof(*guests));
    int rc = 0;

    if (!known_s || !guests)
        return error_set(error, -ENOMEM, "out of memory");
    minutes->guests = guests;
    minutes->known_s = known_s;
    for (; rc == 0 && minutes->source < minutes->reading->n_sources; minutes->source++)
        rc = read_minutes(minutes, error);
    if (rc == 0 && plan_past_sum(minutes->fleet) < 0)
        return error_set(error, -ENOMEM, "out of memory");
    return rc == 0 ? count_missed(minutes, error) : rc;
}

static bool is_retired(const struct plan_fleet *fleet, size_t host)
{
    for (size_t g = 0; g < fleet->n_guests; g++)
        if (fleet->guests[g].host == host)
            return false;
    return fleet->hosts[host].stale;
}

/* Leaves out hosts that were switched off or renamed, unless nothing else is left. */
static void drop_retired(const struct plan_reading *reading, struct plan_fleet *fleet)
{
    char past[128];

    for (size_t h = fleet->n_hosts; fleet->n_guests > 0 && h-- > 0;) {
        if (!is_retired(fleet, h))
            continue;
        if (fleet->past[h].n_guests > 0)
            snprintf(past, sizeof(past),
                     "; %zu that ha%s ended needed up to %s there, which is not planned for",
                     fleet->past[h].n_guests, fleet->past[h].n_guests == 1 ? "s" : "ve",
                     BYTES_TEXT((uint64_t)fleet->past[h].max_bytes));
        plan_warn(reading, "host %s is left out: it has no guests, and no records of late%s",
                  fleet->hosts[h].name, fleet->past[h].n_guests > 0 ? past : "");
        plan_fleet_drop_host(fleet, h);
    }
}

int plan_read(const struct plan_reading *reading, struct plan_fleet *fleet, struct error *error)
{
    struct roster roster = {0};
    struct minutes minutes = {.reading = reading, .roster = &roster, .fleet = fleet};
    int rc = read_roster(reading, &roster, error);

    if (rc == 0)
        rc = make_fleet(reading, &roster, fleet, error);
    if (rc < 0) {
        roster_free(&roster);
        return rc;
    }
    rc = read_all_minutes(&minutes, error);
    roster_free(&roster);
    if (rc < 0)
        plan_fleet_free(fleet);
    else
        drop_retired(reading, fleet);
    return rc;
}
