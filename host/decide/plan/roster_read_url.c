// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file roster_read_url.c  See from_prometheus.h: reads hosts and guests. */
#include "base/array.h"
#include "base/bytes.h"
#include "decide/plan/from_prometheus.h"
#include "decide/plan/url_parts.h"
#include "history/bucket.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct url_guest {
    char uuid[37];
    struct roster_row row;
    bool there;        /* present in the last scrape: it has RAM, */
    bool seen;         /* or anything else that a guest that has not ended has, */
    bool sized;        /* and a size, which it had in the last hour */
    unsigned n_ranges; /* how many answers of ranges[] have it */
};

struct url_reading {
    struct roster *roster;
    struct prom_reader reader;
    size_t source;
    struct url_hosts *hosts;
    struct url_host *host;        /* the one being read: */
    size_t to;                    /* its index in the roster */
    struct roster_range capacity; /* in the span */
    bool is_there;                /* its last scrape was in an answer */
    struct url_guest *guests;     /* all guests that it has had */
    size_t n_guests, n_there;
};

static struct plan_host *plan_of(const struct url_reading *from)
{
    return &from->roster->hosts[from->to].host;
}

/* --- guests of a host ------------------------------------------------------------------------- */

static struct url_guest *find_guest(const struct url_reading *from, const char *uuid)
{
    for (size_t g = 0; g < from->n_guests; g++)
        if (strcmp(from->guests[g].uuid, uuid) == 0)
            return &from->guests[g];
    return NULL;
}

/* Returns the guest, which is added if it is new; NULL if out of memory. */
static struct url_guest *get_guest(struct url_reading *from, const char *uuid)
{
    struct url_guest new = {.row = {.source = from->source, .host = from->to}};
    struct url_guest *guest = find_guest(from, uuid);

    if (guest)
        return guest;
    snprintf(new.uuid, sizeof(new.uuid), "%s", uuid);
    return array_put(&from->guests, &from->n_guests, &new, sizeof(new)) < 0
               ? NULL
               : &from->guests[from->n_guests - 1];
}

/* A guest that was there, without a valid UUID or RAM: prom_each() names the series. */
static void leave_out(struct url_reading *from, const char *name, bool is_ram, const char *lacks)
{
    plan_warn(from->reader.reading,
              "host %s: guest %s%s left out: its vmwss_plan_%s_bytes has no valid %s",
              from->host->name, name, is_ram ? " is" : " has needs that are",
              is_ram ? "ram" : "need", lacks);
    plan_of(from)->partial = true;
}

static int see_ram(struct url_reading *from, struct url_guest *guest, const char *name,
                   double bytes)
{
    if (guest->there && strcmp(guest->row.name, name) != 0)
        return error_set(from->reader.error, -ENOTUNIQ,
                         "host %s: two guests have UUID %s, %s and %s: was the label uuid "
                         "rewritten by relabelling?",
                         from->host->name, guest->uuid, guest->row.name, name);
    from->n_there += !guest->there;
    guest->there = true;
    guest->row.ram_bytes = larger(guest->row.ram_bytes, (uint64_t)bytes);
    snprintf(guest->row.name, sizeof(guest->row.name), "%s", name);
    return 0;
}

static void see_state(const struct url_reading *from, struct roster_row *row, const char *state)
{
    row->unmeasured |= strcmp(state, "unmeasured") == 0;
    if (strcmp(state, "suspended") == 0 || strcmp(state, "unwatched") == 0) {
        row->has_event = true;
        row->event = *state == 's' ? EVENT_SUSPEND : EVENT_UNWATCH;
        row->event_s = from->host->scraped_s;
    }
}

/* A guest that has a need, or a RAM that cannot be read, has not ended. */
static int see_guest(struct url_reading *from, const struct prom_series *series, double bytes)
{
    const char *metric = prom_label(series, "__name__");
    const char *uuid = prom_label(series, "uuid");
    const bool is_ram = strcmp(metric, "vmwss_plan_ram_bytes") == 0;
    const bool is_seen = is_ram || strcmp(metric, "vmwss_plan_need_bytes") == 0;
    struct url_guest *guest;
    char name[sizeof(guest->row.name)];

    prom_guest_name(name, sizeof(name), series);
    if (!prom_is_uuid(uuid)) {
        if (is_seen)
            leave_out(from, name, is_ram, "label uuid");
        return 0;
    }
    guest = get_guest(from, uuid);
    if (!guest)
        return -ENOMEM;
    guest->seen |= is_seen;
    if (is_ram && bytes >= 1)
        return see_ram(from, guest, name, bytes);
    if (strcmp(metric, "vmwss_plan_used_bytes") == 0)
        guest->row.used_bytes = larger(guest->row.used_bytes, (uint64_t)bytes);
    else if (strcmp(metric, "vmwss_plan_size_bytes") == 0)
        guest->sized = true;
    else if (strcmp(metric, "vmwss_plan_state") == 0)
        see_state(from, &guest->row, prom_label(series, "state"));
    else if (!guest->there)
        memcpy(guest->row.name, name, sizeof(name));
    return 0;
}

/* Sees one of the series that the host had at its last scrape. If two servers differ, the smaller
 * capacity counts, and the larger of all others. */
static int see_now(struct prom_series *series, void *context)
{
    struct url_reading *from = context;
    const char *metric = prom_label(series, "__name__");
    struct plan_host *plan = plan_of(from);
    const double bytes = series->value;
    const bool is_reserve = strcmp(metric, "vmwss_plan_reserve_bytes") == 0;

    from->is_there |= is_reserve;
    if (isnan(bytes))
        return strcmp(metric, "vmwss_plan_ram_bytes") == 0 ? see_guest(from, series, 0) : 0;
    if (strcmp(metric, "vmwss_plan_capacity_bytes") == 0) {
        if (plan->capacity_bytes == 0 || bytes < (double)plan->capacity_bytes)
            plan->capacity_bytes = (uint64_t)bytes;
    } else if (is_reserve) {
        if (plan->reserve_bytes == PLAN_RESERVE_UNKNOWN || bytes > (double)plan->reserve_bytes)
            plan->reserve_bytes = (uint64_t)bytes;
    } else {
        return see_guest(from, series, bytes);
    }
    return 0;
}

/* --- their hours ------------------------------------------------------------------------------ */

/* The hour's needs are scraped until a minute after its end. Guests that have left are known only
 * from these needs: no other query covers them. */
static int see_hours(struct prom_series *series, void *context)
{
    struct url_reading *from = context;
    const char *uuid = prom_label(series, "uuid");
    struct url_guest *guest;
    double end_s;
    double bytes;

    if (!prom_is_uuid(uuid)) {
        plan_of(from)->partial = true;
        return 0;
    }
    guest = get_guest(from, uuid);
    if (!guest)
        return -ENOMEM;
    while (prom_next(series, &end_s, &bytes))
        roster_mark_hour(&guest->row, end_s - BUCKET_HOUR, from->reader.reading->to_s);
    return 0;
}

/* The largest size at the longest window up to an hour counts. */
static int see_size(struct prom_series *series, void *context)
{
    const struct url_reading *from = context;
    struct url_guest *guest = find_guest(from, prom_label(series, "uuid"));
    const double window_s = strtod(prom_label(series, "window"), NULL);
    double bytes = series->value;

    if (!guest || !(window_s >= guest->row.size_window_s && window_s <= BUCKET_HOUR + SAME_S) ||
        isnan(bytes))
        return 0;
    if (guest->there)
        bytes = fmin(bytes, (double)guest->row.ram_bytes);
    if (window_s == guest->row.size_window_s)
        bytes = fmax(bytes, guest->row.size_bytes);
    guest->row.size_window_s = window_s;
    guest->row.size_bytes = bytes;
    return 0;
}

/* Which capacity the host had in this time, and which RAM its guests had. */
static int see_range(struct prom_series *series, void *context)
{
    struct url_reading *from = context;
    const char *uuid = prom_label(series, "uuid");
    struct url_guest *guest = find_guest(from, uuid);
    struct roster_range *range = guest ? &guest->row.ram : uuid[0] == '\0' ? &from->capacity : NULL;

    if (guest)
        guest->n_ranges++;
    if (range && !isnan(series->value))
        *range = roster_range_with(*range, (uint64_t)series->value);
    return 0;
}

/* Reads the hours, and the quantile of the sizes: of what the rules have recorded if they were
 * always evaluated. */
static int read_hours(struct url_reading *from)
{
    const struct plan_reading *reading = from->reader.reading;
    const double first_s = floor(reading->from_s / BUCKET_HOUR) * BUCKET_HOUR;
    const struct prom_span hours = {
        .from_s = first_s + BUCKET_HOUR,
        .n_times = (size_t)ceil((reading->to_s - first_s) / BUCKET_HOUR),
        .step_s = BUCKET_HOUR,
        .n_series = from->n_there,
    };
    double since_s = HUGE_VAL;
    double recorded_s;
    int rc = url_needs_read(&from->reader, &hours, see_hours, from, &recorded_s);

    if (rc < 0)
        return rc;
    for (size_t g = 0; g < from->n_guests; g++)
        if (from->guests[g].row.last_s > 0)
            since_s = fmin(since_s, from->guests[g].row.first_s);
    /* the first hour may have begun without the host */
    return prom_each(&from->reader, NULL,
                     recorded_s <= since_s + BUCKET_HOUR
                         ? "max by (uuid,window) (quantile_over_time($size, "
                           "vmwss:plan_size_bytes:max{$of}[$span]))"
                         : "max by (uuid,window) (quantile_over_time($size, "
                           "vmwss_plan_size_bytes{$of}[$span:$900]))",
                     see_size, from);
}

/* --- into the roster -------------------------------------------------------------------------- */

/* A host that is stale is named in any case. */
static void warn_of_host(struct url_reading *from)
{
    const double ago_s = from->reader.reading->to_s - from->host->scraped_s;
    const uint64_t now_bytes = plan_of(from)->capacity_bytes;
    char range[ROSTER_RANGE_MAX];

    if (now_bytes > 0)
        from->capacity = roster_range_with(from->capacity, now_bytes);
    if (roster_has_changed(&from->capacity, range))
        plan_warn(from->reader.reading,
                  "host %s: its capacity was %s in this time: how long it was short, and the "
                  "plan, are for that of now",
                  from->host->name, range);
    if (!from->host->live && ago_s <= PLAN_SCRAPED_S)
        plan_warn(from->reader.reading,
                  "host %s: it was last scraped %.0f minutes ago, and is planned as it was then",
                  from->host->name, ago_s / 60);
}

/* Suspended guests do not explain why a host is not live. */
static int begin_host(struct url_reading *from, struct url_host *host)
{
    const ssize_t to = roster_host(from->roster, from->reader.reading, from->source, host->name,
                                   from->reader.error);
    struct roster_host *added;

    if (to < 0)
        return (int)to;
    added = &from->roster->hosts[to];
    from->host = host;
    from->to = (size_t)to;
    from->reader.host = host->name;
    from->n_guests = from->n_there = from->is_there = 0;
    from->capacity = (struct roster_range){0};
    added->host.reserve_bytes = PLAN_RESERVE_UNKNOWN;
    added->scraped_s = host->scraped_s;
    added->silent = host->live;
    return 0;
}

/* A guest that the exporter did not serve in the last scrape has ended, here. */
static int add_row(struct url_reading *from, struct url_guest *guest)
{
    struct roster_row *row = &guest->row;

    row->used_bytes = smaller(row->used_bytes, row->ram_bytes);
    if (guest->there)
        row->ram = roster_range_with(row->ram, row->ram_bytes);
    if (!guest->there) {
        row->has_event = true;
        row->event = EVENT_END;
        row->event_s = row->last_s + BUCKET_HOUR;
    }
    return roster_add(from->roster, from->reader.reading, row, guest->uuid, from->reader.error);
}

/* Returns the last hour in which a guest that is present had a need. If that is long ago for all of
 * them, vmwssd does not run there any more: as with a file, the host is stale. */
static double last_hour(const struct url_reading *from)
{
    const double now_s = floor(from->host->scraped_s / BUCKET_HOUR) * BUCKET_HOUR;
    double last_s = 0;

    for (size_t g = 0; g < from->n_guests; g++)
        if (from->guests[g].there)
            last_s = fmax(last_s,
                          from->guests[g].row.has_event ? now_s : from->guests[g].row.last_s);
    return last_s > 0 ? fmin(last_s, now_s) : now_s;
}

/* A guest that is served without a recent need has no hour, or none that counts. As with a file, it
 * is present, and needs all of its RAM, or what it needed before. */
static void mark_mute(const struct url_reading *from, struct url_guest *guest, double now_s)
{
    struct roster_row *row = &guest->row;

    if (!guest->there || row->has_event || row->last_s + PLAN_RECENT_S >= now_s)
        return;
    plan_warn(from->reader.reading,
              "host %s: guest %s has no vmwss_plan_need_bytes of late with a window of %g s: %s",
              from->host->name, row->name, from->reader.reading->window_s,
              row->last_s > 0 ? "it is planned with what it needed before"
                              : "it is planned with what it needed on other hosts, or with all of "
                                "its RAM");
    roster_mark_hour(row, now_s, from->reader.reading->to_s);
}

/* Handles guests without needs; and a host without guests, which may receive some. */
static int no_rows(struct url_reading *from)
{
    if (from->n_there > 0)
        return error_set(from->reader.error, -ENODATA,
                         "host %s has guests, but no vmwss_plan_need_bytes of that time with a "
                         "window of %g s: choose with --window, or have the exporter serve it "
                         "(--plan-window)",
                         from->host->name, from->reader.reading->window_s);
    if (from->host->live) {
        warn_of_host(from);
        return 0;
    }
    plan_warn(from->reader.reading,
              "host %s is left out: it is not scraped any more, and has no needs in that time",
              from->host->name);
    from->roster->n_hosts--;
    return 0;
}

static int add_rows(struct url_reading *from)
{
    const double last_s = last_hour(from);
    size_t n = 0;
    int rc = 0;

    for (size_t g = 0; g < from->n_guests; g++)
        n += from->guests[g].row.last_s > 0;
    if (n == 0)
        return no_rows(from);
    warn_of_host(from);
    for (size_t g = 0; rc == 0 && g < from->n_guests; g++) {
        mark_mute(from, &from->guests[g], last_s);
        if (from->guests[g].row.last_s > 0)
            rc = add_row(from, &from->guests[g]);
    }
    return rc;
}

static int by_name_and_uuid(const void *a, const void *b)
{
    const struct url_guest *x = a;
    const struct url_guest *y = b;
    const int order = strcmp(x->row.name, y->row.name);

    return order ? order : strcmp(x->uuid, y->uuid);
}

static const char now[] =
    "{$of,__name__=~\"vmwss_plan_capacity_bytes|vmwss_plan_reserve_bytes|vmwss_plan_ram_bytes|"
    "vmwss_plan_used_bytes|vmwss_plan_state|vmwss_plan_need_bytes|vmwss_plan_size_bytes\"}";

/* The names of several metrics are put back, by which their series are named. */
#define RANGE(of)                                                                                \
    of " by (host) (" of "_over_time(vmwss_plan_capacity_bytes{$of}[$span:$900])) or "           \
       "label_replace(" of " by (host, uuid) (" of "_over_time(vmwss_plan_ram_bytes{$of}[$span:" \
       "$900])), \"__name__\", \"vmwss_plan_ram_bytes\", \"\", \"\")"

static const char *const ranges[] = {RANGE("min"), RANGE("max")};

/* Warns of what an answer lacks, though it was in the last scrape, and for hours before it. */
static void warn_of_lost(struct url_reading *from)
{
    if (!from->is_there)
        prom_lost(&from->reader, from->host->name);
    for (size_t g = 0; g < from->n_guests; g++) {
        const struct url_guest *guest = &from->guests[g];
        const char *lost = guest->n_ranges < COUNT(ranges) ? "RAM in one answer, but not in another"
                           : guest->sized && guest->row.size_window_s == 0
                               ? "sizes in one answer, but not in another"
                               : NULL;

        if (lost && guest->there && roster_count_hours(&guest->row) >= LOST_HOURS)
            prom_lost_of(from->reader.reading, plan_of(from), guest->row.name, lost);
    }
}

/* Engines return their series in different orders. */
static int read_host(struct url_reading *from)
{
    const struct prom_span at = {.from_s = from->host->scraped_s, .n_times = 1};
    int rc = prom_each(&from->reader, &at, now, see_now, from);

    for (size_t g = 0; rc == 0 && g < from->n_guests; g++)
        if (from->guests[g].seen && !from->guests[g].there)
            leave_out(from, from->guests[g].row.name, true, "value");
    if (rc == 0)
        rc = read_hours(from);
    for (size_t i = 0; rc == 0 && i < COUNT(ranges); i++)
        rc = prom_each(&from->reader, NULL, ranges[i], see_range, from);
    if (rc == 0)
        warn_of_lost(from);
    if (rc == 0)
        rc = url_host_doubts(&from->reader, from->hosts, from->host,
                             from->n_guests > from->n_there);
    plan_of(from)->partial |= from->host->partial;
    if (rc == 0 && from->n_guests > 0)
        qsort(from->guests, from->n_guests, sizeof(*from->guests), by_name_and_uuid);
    return rc == 0 ? add_rows(from) : rc;
}

int roster_read_url(struct roster *roster, const struct plan_reading *reading, size_t source,
                    struct error *error)
{
    struct url_hosts hosts = {0};
    struct url_reading from = {.roster = roster, .source = source, .hosts = &hosts};
    int rc;

    rc = prom_begin(&from.reader, reading, source, error);
    if (rc < 0)
        return rc;
    rc = url_hosts_read(&from.reader, &hosts);
    for (size_t h = 0; rc == 0 && h < hosts.n; h++) {
        rc = begin_host(&from, &hosts.hosts[h]);
        if (rc == 0)
            rc = read_host(&from);
    }
    from.reader.host = NULL;
    if (rc == 0 && reading->cpu_query)
        rc = url_cpus_read(roster, &from.reader);
    for (size_t h = 0; from.reader.partial && h < roster->n_hosts; h++)
        if (roster->hosts[h].source == source)
            roster->hosts[h].host.partial = true;
    rc = prom_end(&from.reader, rc);
    url_hosts_free(&hosts);
    free(from.guests);
    return rc;
}
