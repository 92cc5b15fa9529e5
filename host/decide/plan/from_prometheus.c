// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file from_prometheus.c  See from_prometheus.h: reads the needs. */
#include "decide/plan/from_prometheus.h"

#include "decide/plan/url_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* If a host is scraped once a minute, at least this share of the minutes is known in the quarters
 * of an hour of which it has any. */
#define SCRAPED_OFTEN 0.75
#define QUARTER_S 900
#define DAY_S 86400

struct needs {
    const struct url_minutes *minutes;
    size_t host;                    /* index in the roster */
    size_t n_guests;                /* those in the plan that were on it */
    double quarters, known_minutes; /* in which the host was scraped */
};

static bool is_here(const struct needs *needs, const struct roster_row *row)
{
    return row->source == needs->minutes->source && row->host == needs->host;
}

static int see_needs(struct prom_series *series, void *context)
{
    struct needs *needs = context;
    const struct roster *roster = needs->minutes->roster;
    struct plan_fleet *fleet = needs->minutes->fleet;
    const struct roster_guest *guest = roster_guest_of(roster, prom_label(series, "uuid"));
    size_t r = guest ? guest->first : PLAN_NOT_THERE;
    size_t n = 0;
    double end_s;
    double bytes;

    while (r != PLAN_NOT_THERE && !is_here(needs, &roster->rows[r]))
        r = roster->rows[r].next;
    for (; prom_next(series, &end_s, &bytes); n++) {
        if (guest)
            plan_note(fleet, guest->number, end_s - fleet->step_s, fleet->step_s, bytes);
    }
    if (r != PLAN_NOT_THERE)
        roster->rows[r].noted |= n > 0;
    else if ((double)n * fleet->step_s >= LOST_HOURS * BUCKET_HOUR &&
             prom_is_uuid(prom_label(series, "uuid")))
        prom_lost_of(needs->minutes->reading, &fleet->hosts[needs->host],
                     prom_label(series, "uuid"),
                     "needs in an answer by steps, but not by the hour");
    return 0;
}

/* A guest that is on no host in the time of the plan has ended before. */
static int see_earlier(struct prom_series *series, void *context)
{
    const struct needs *needs = context;
    const struct url_minutes *minutes = needs->minutes;
    const struct roster_guest *guest = roster_guest_of(minutes->roster, prom_label(series, "uuid"));
    struct plan_before *before = guest ? roster_before(minutes->roster, guest, minutes->fleet)
                                       : &minutes->fleet->past[needs->host].before;
    double end_s;
    double bytes;

    while (prom_next(series, &end_s, &bytes))
        plan_note_before(before, end_s, bytes);
    return 0;
}

/* A host that is scraped more often than once a minute does not have more minutes. */
static int see_minutes(struct prom_series *series, void *context)
{
    struct needs *needs = context;
    double end_s;
    double n;

    while (prom_next(series, &end_s, &n)) {
        needs->quarters += n >= 1;
        needs->known_minutes += fmin(n, QUARTER_S / 60.0);
    }
    return 0;
}

/* --- gaps ------------------------------------------------------------------------------------- */

static void warn_of_gaps(const struct needs *needs)
{
    const struct roster *roster = needs->minutes->roster;
    struct plan_host *host = &needs->minutes->fleet->hosts[needs->host];
    const double known = needs->quarters > 0
                             ? needs->known_minutes * 60 / (needs->quarters * QUARTER_S)
                             : 1;

    /* A guest without a recent need has one hour, and one that has ended no name. */
    for (size_t r = 0; r < roster->n_rows; r++) {
        const struct roster_row *row = &roster->rows[r];

        if (is_here(needs, row) && roster_count_hours(row) >= LOST_HOURS &&
            (!row->noted || needs->quarters == 0))
            prom_lost_of(needs->minutes->reading, host,
                         row->name[0] ? row->name : roster->guests[row->guest].uuid,
                         row->noted
                             ? "needs in minutes that are in no answer by quarters of an hour"
                             : "needs in an answer by the hour, but not by steps");
    }
    if (needs->minutes->fleet->step_s > BUCKET_MINUTE)
        host->missed_share = 1 - known;
    if (needs->quarters * QUARTER_S >= 2 * BUCKET_HOUR && known < SCRAPED_OFTEN)
        plan_warn(needs->minutes->reading,
                  "host %s: %.0f %% of its minutes are known: scrape vmwss-exporter at least once "
                  "a minute",
                  roster->hosts[needs->host].host.name, 100 * known);
}

/* --- a host ----------------------------------------------------------------------------------- */

static int read_needs(struct needs *needs, struct prom_reader *reader)
{
    const struct plan_fleet *fleet = needs->minutes->fleet;
    const struct prom_span steps = {.from_s = fleet->from_s + fleet->step_s,
                                    .n_times = fleet->n_times,
                                    .step_s = fleet->step_s,
                                    .n_series = needs->n_guests};
    /* VictoriaMetrics refuses more than 30,000 points of a subquery, for all times together. */
    const struct prom_span quarters = {.from_s = fleet->from_s + QUARTER_S,
                                       .n_times = fleet->n_times * (size_t)fleet->step_s /
                                                  QUARTER_S,
                                       .step_s = QUARTER_S,
                                       .n_series = QUARTER_S / 6};
    double recorded_s;
    int rc = url_needs_read(reader, &steps, see_needs, needs, &recorded_s);

    if (rc == 0)
        rc = prom_each(reader, &quarters,
                       "count_over_time((max by (host) (count_over_time("
                       "vmwss_plan_reserve_bytes{$of}[60s])))[$step:60s] $late)",
                       see_minutes, needs);
    if (rc == 0)
        warn_of_gaps(needs);
    return rc;
}

static int read_host(struct needs *needs, struct prom_reader *reader)
{
    const struct prom_span days = {.from_s = reader->reading->from_s - PLAN_BEFORE_S + DAY_S,
                                   .n_times = (size_t)(PLAN_BEFORE_S / DAY_S),
                                   .step_s = DAY_S,
                                   .n_series = needs->n_guests};
    int rc;

    reader->host = needs->minutes->roster->hosts[needs->host].host.name;
    rc = prom_each(reader, &days, SCRAPED_NEEDS, see_earlier, needs);
    if (rc == 0)
        rc = read_needs(needs, reader);
    if (rc == 0 && needs->n_guests > 0 && needs->minutes->reading->writes)
        rc = url_writes_read(needs->minutes, reader);
    return rc;
}

int plan_read_url(const struct url_minutes *minutes, struct error *error)
{
    const struct plan_reading *reading = minutes->reading;
    const struct roster *roster = minutes->roster;
    struct prom_reader reader;
    int rc = prom_begin(&reader, reading, minutes->source, error);

    if (rc < 0)
        return rc;
    for (size_t h = 0; rc == 0 && h < roster->n_hosts; h++) {
        struct needs needs = {.minutes = minutes, .host = h, .n_guests = roster->hosts[h].n_rows};

        if (roster->hosts[h].source == minutes->source)
            rc = read_host(&needs, &reader);
        minutes->progress((double)(h + 1) / (double)roster->n_hosts, minutes->context);
    }
    for (size_t h = 0; reader.partial && h < roster->n_hosts; h++)
        if (roster->hosts[h].source == minutes->source)
            minutes->fleet->hosts[h].partial = true;
    return prom_end(&reader, rc);
}
