// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file from_prometheus.c  See from_prometheus.h: the needs. */
#include "plan/from_prometheus.h"

#include "plan/prom_query.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the hours of which a host has some minutes at least such a share of the minutes is known, if
 * it is scraped once a minute. */
#define SCRAPED_OFTEN 0.75

struct number {
    const char *uuid;
    size_t of; /* in the fleet */
};

struct needs {
    const struct url_minutes *minutes;
    size_t host;            /* of the roster */
    struct number *numbers; /* of the guests that are planned with, by UUID */
    size_t n_numbers;
    size_t hours; /* that they have, in sum */
    size_t noted;
    double steps, minutes_of_steps; /* in which the host was scraped */
};

static int by_uuid(const void *a, const void *b)
{
    return strcmp(((const struct number *)a)->uuid, ((const struct number *)b)->uuid);
}

static int compare_uuid(const void *uuid, const void *number)
{
    return strcmp(uuid, ((const struct number *)number)->uuid);
}

/* The guest's number in the fleet; PLAN_NOT_THERE. */
static size_t number_of(const struct needs *needs, const char *uuid)
{
    const struct number *number = bsearch(uuid, needs->numbers, needs->n_numbers,
                                          sizeof(*needs->numbers), compare_uuid);

    return number ? number->of : PLAN_NOT_THERE;
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

/* A host that is scraped more often than each minute has no more minutes for it. */
static int see_minutes(const struct prom_answer *answer, size_t series, void *context)
{
    struct needs *needs = context;
    const double most = needs->minutes->fleet->step_s / 60.0;
    double end_s;
    double n;

    for (size_t p = 0; p < prom_n_points(answer, series); p++)
        if (prom_point(answer, series, p, &end_s, &n) && n >= 1) {
            needs->steps++;
            needs->minutes_of_steps += fmin(n, most);
        }
    return 0;
}

static double missed_share(const struct needs *needs)
{
    const double most = needs->minutes->fleet->step_s / 60.0;

    return needs->steps > 0 ? 1 - needs->minutes_of_steps / (needs->steps * most) : 0;
}

static int add_number(struct needs *needs, const struct roster_row *row)
{
    const struct roster_guest *guest = &needs->minutes->roster->guests[row->guest];
    struct number *numbers;

    if (guest->number == PLAN_NOT_THERE)
        return 0;
    numbers = reallocarray(needs->numbers, needs->n_numbers + 1, sizeof(*numbers));
    if (!numbers)
        return -ENOMEM;
    needs->numbers = numbers;
    numbers[needs->n_numbers++] = (struct number){guest->uuid, guest->number};
    for (size_t w = 0; w < ROSTER_HOURS / 64; w++)
        needs->hours += (size_t)__builtin_popcountll(row->hours[w]);
    return 0;
}

/* Guests of the host, wherever they are now. */
static int number_guests(struct needs *needs, struct error *error)
{
    const struct roster *roster = needs->minutes->roster;
    int rc = 0;

    for (size_t r = 0; rc == 0 && r < roster->n_rows; r++)
        if (roster->rows[r].source == needs->minutes->source && roster->rows[r].host == needs->host)
            rc = add_number(needs, &roster->rows[r]);
    if (rc < 0)
        return error_set(error, rc, "host %s: out of memory", roster->hosts[needs->host].host.name);
    if (needs->n_numbers > 0)
        qsort(needs->numbers, needs->n_numbers, sizeof(*needs->numbers), by_uuid);
    return 0;
}

static void warn_of_gaps(const struct needs *needs)
{
    const struct plan_fleet *fleet = needs->minutes->fleet;
    const double wanted = (double)needs->hours * BUCKET_HOUR / fleet->step_s;
    const double known = (double)needs->noted * (1 - missed_share(needs));
    char text[512];

    if (needs->hours < 2 || known >= SCRAPED_OFTEN * wanted)
        return;
    snprintf(text, sizeof(text),
             "host %s: %.0f %% of its minutes are known: scrape vmwss-exporter at least once a "
             "minute",
             needs->minutes->roster->hosts[needs->host].host.name, 100 * known / wanted);
    plan_warn(needs->minutes->reading, text);
}

static int ask_for_needs(struct prom_client *client, struct needs *needs, struct error *error)
{
    const struct url_minutes *minutes = needs->minutes;
    const struct plan_fleet *fleet = minutes->fleet;
    const char *host = minutes->roster->hosts[needs->host].host.name;
    struct prom_span span = {fleet->from_s + fleet->step_s + PROM_MINUTE_LATE_S, fleet->n_times,
                             fleet->step_s, needs->n_numbers};
    char query[PROM_QUERY_MAX];
    int rc;

    prom_needs_query(query, host, minutes->reading->window_s, fleet->step_s);
    rc = prom_each_piece(client, minutes->reading, query, &span, see_needs, needs, error);
    span.n_series = 1;
    prom_minutes_query(query, host, fleet->step_s);
    if (rc == 0 && fleet->step_s > BUCKET_MINUTE)
        rc = prom_each_piece(client, minutes->reading, query, &span, see_minutes, needs, error);
    if (rc < 0)
        return rc;
    fleet->hosts[needs->host].missed_share = missed_share(needs);
    warn_of_gaps(needs);
    return 0;
}

static int read_host(struct prom_client *client, const struct url_minutes *minutes, size_t host,
                     struct error *error)
{
    struct needs needs = {.minutes = minutes, .host = host};
    int rc = number_guests(&needs, error);

    if (rc == 0 && needs.n_numbers > 0)
        rc = ask_for_needs(client, &needs, error);
    free(needs.numbers);
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
