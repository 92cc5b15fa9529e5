// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file from_prometheus.c  See from_prometheus.h: the needs. */
#include "plan/from_prometheus.h"

#include "plan/prom_query.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Of the hours of which a host has some minutes at least such a share of the minutes is known, if
 * it is scraped once a minute. */
#define SCRAPED_OFTEN 0.75

struct needs {
    const struct url_minutes *minutes;
    size_t host; /* of the roster */
    size_t noted;
};

/* The guest's number in the fleet, by its UUID; PLAN_NOT_THERE. */
static size_t number_of(const struct needs *needs, const char *uuid)
{
    const struct roster *roster = needs->minutes->roster;

    for (size_t r = 0; r < roster->n_rows; r++) {
        const struct roster_row *row = &roster->rows[r];

        if (row->source == needs->minutes->source && row->host == needs->host &&
            strcmp(roster->guests[row->guest].uuid, uuid) == 0)
            return roster->guests[row->guest].number;
    }
    return PLAN_NOT_THERE;
}

static int see_needs(const struct prom_answer *answer, size_t series, void *context)
{
    struct needs *needs = context;
    struct plan_fleet *fleet = needs->minutes->fleet;
    const size_t guest = number_of(needs, prom_label(answer, series, "uuid"));
    double end_s;
    double bytes;

    if (guest == PLAN_NOT_THERE)
        return 0;
    for (size_t p = 0; p < prom_n_points(answer, series); p++)
        if (prom_point(answer, series, p, &end_s, &bytes) && bytes >= 0) {
            const double cell = round((end_s - PROM_MINUTE_LATE_S - fleet->from_s) / fleet->step_s);

            plan_note(fleet, guest, fleet->from_s + (cell - 1) * fleet->step_s, fleet->step_s,
                      bytes);
            needs->noted++;
        }
    return 0;
}

/* Rows of the host, and the hours that they have. */
static size_t count_rows(const struct needs *needs, size_t *hours, bool *has_guests)
{
    const struct roster *roster = needs->minutes->roster;
    size_t n = 0;

    *hours = 0;
    *has_guests = false;
    for (size_t r = 0; r < roster->n_rows; r++) {
        const struct roster_row *row = &roster->rows[r];

        if (row->source != needs->minutes->source || row->host != needs->host)
            continue;
        n++;
        if (roster->guests[row->guest].number == PLAN_NOT_THERE)
            continue;
        *has_guests = true;
        for (size_t w = 0; w < ROSTER_HOURS / 64; w++)
            *hours += (size_t)__builtin_popcountll(row->hours[w]);
    }
    return n;
}

static void warn_of_gaps(const struct needs *needs, size_t hours)
{
    const struct plan_fleet *fleet = needs->minutes->fleet;
    const double wanted = (double)hours * BUCKET_HOUR / fleet->step_s;
    char text[512];

    if (hours < 2 || (double)needs->noted >= SCRAPED_OFTEN * wanted)
        return;
    snprintf(text, sizeof(text),
             "host %s: %.0f %% of its minutes are known: scrape vmwss-exporter at least once a "
             "minute",
             needs->minutes->roster->hosts[needs->host].host.name,
             100 * (double)needs->noted / wanted);
    plan_warn(needs->minutes->reading, text);
}

static int read_host(struct prom_client *client, const struct url_minutes *minutes, size_t host,
                     struct error *error)
{
    const struct plan_fleet *fleet = minutes->fleet;
    struct needs needs = {minutes, host, 0};
    size_t hours;
    bool has_guests;
    const size_t rows = count_rows(&needs, &hours, &has_guests);
    const struct prom_span span = {fleet->from_s + fleet->step_s + PROM_MINUTE_LATE_S,
                                   fleet->n_times, fleet->step_s, rows};
    char query[PROM_QUERY_MAX];
    int rc;

    if (!has_guests)
        return 0;
    prom_needs_query(query, minutes->roster->hosts[host].host.name, minutes->reading->window_s,
                     fleet->step_s);
    rc = prom_each_piece(client, minutes->reading, query, &span, see_needs, &needs, error);
    if (rc == 0)
        warn_of_gaps(&needs, hours);
    return rc;
}

int plan_read_url(const struct url_minutes *minutes, struct error *error)
{
    const struct plan_reading *reading = minutes->reading;
    const size_t n = minutes->roster->n_hosts;
    struct prom_client *client;
    int rc = prom_open(reading->sources[minutes->source].path, reading->prometheus, &client, error);

    if (rc < 0)
        return rc;
    for (size_t h = 0; rc == 0 && h < n; h++) {
        if (minutes->roster->hosts[h].source == minutes->source)
            rc = read_host(client, minutes, h, error);
        if (minutes->progress)
            minutes->progress((double)(h + 1) / (double)n, minutes->context);
    }
    prom_close(client);
    return rc;
}
