// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file from_prometheus.c  See from_prometheus.h: reads the needs. */
#include "decide/plan/from_prometheus.h"

#include "base/array.h"
#include "decide/plan/prom_doubt.h"
#include "decide/plan/url_needs.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* If a host is scraped once a minute, at least this share of the minutes is known in the hours of
 * which it has any minutes. */
#define SCRAPED_OFTEN 0.75
#define DAY_S 86400

struct number {
    const char *uuid;
    size_t of; /* index in the fleet */
};

struct needs {
    const struct url_minutes *minutes;
    struct prom_reader reader;
    size_t host;            /* index in the roster */
    struct number *numbers; /* the guests in the plan, by UUID */
    size_t n_numbers;
    double steps, minutes_of_steps; /* steps and minutes in which the host was scraped */
};

static int by_uuid(const void *a, const void *b)
{
    return strcmp(((const struct number *)a)->uuid, ((const struct number *)b)->uuid);
}

static int compare_uuid(const void *uuid, const void *number)
{
    return strcmp(uuid, ((const struct number *)number)->uuid);
}

/* Returns NULL if the guest is not in the plan. */
static const struct number *find_number(const struct needs *needs, const char *uuid)
{
    return bsearch(uuid, needs->numbers, needs->n_numbers, sizeof(*needs->numbers), compare_uuid);
}

static int see_needs(const struct prom_answer *answer, size_t series, void *context)
{
    struct needs *needs = context;
    struct plan_fleet *fleet = needs->minutes->fleet;
    const struct number *number = find_number(needs, prom_label(answer, series, "uuid"));
    double end_s;
    double bytes;

    for (size_t p = 0; number && p < prom_n_points(answer, series); p++)
        if (prom_amount(answer, series, p, &end_s, &bytes)) {
            const double cell =
                round((end_s - PROM_MINUTE_LATE_S - fleet->from_s) / fleet->step_s) - 1;

            plan_note(fleet, number->of, fleet->from_s + cell * fleet->step_s, fleet->step_s,
                      bytes);
        }
    return 0;
}

static int see_earlier(const struct prom_answer *answer, size_t series, void *context)
{
    const struct needs *needs = context;
    const struct number *number = find_number(needs, prom_label(answer, series, "uuid"));
    double end_s;
    double bytes;

    for (size_t p = 0; number && p < prom_n_points(answer, series); p++)
        if (prom_amount(answer, series, p, &end_s, &bytes))
            plan_note_before(needs->minutes->fleet, number->of, end_s, bytes);
    return 0;
}

/* A host that is scraped more often than once a minute does not have more minutes. */
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

static bool is_here(const struct needs *needs, const struct roster_row *row)
{
    return row->source == needs->minutes->source && row->host == needs->host;
}

/* Numbers the guests that were on the host, wherever they are now. */
static int number_guests(struct needs *needs)
{
    const struct roster *roster = needs->minutes->roster;

    for (size_t r = 0; r < roster->n_rows; r++) {
        const struct roster_guest *guest = &roster->guests[roster->rows[r].guest];
        struct number *numbers;

        if (!is_here(needs, &roster->rows[r]) || guest->number == PLAN_NOT_THERE)
            continue;
        numbers = array_grow(needs->numbers, needs->n_numbers, sizeof(*numbers));
        if (!numbers)
            return error_set(needs->reader.error, -ENOMEM, "host %s: out of memory",
                             roster->hosts[needs->host].host.name);
        needs->numbers = numbers;
        numbers[needs->n_numbers++] = (struct number){guest->uuid, guest->number};
    }
    if (needs->n_numbers > 0)
        qsort(needs->numbers, needs->n_numbers, sizeof(*needs->numbers), by_uuid);
    return 0;
}

/* --- gaps ------------------------------------------------------------------------------------- */

/* Counts the steps in the hours of a row, and those whose need is known. */
static void count_steps(const struct needs *needs, const struct roster_row *row, double *known,
                        double *all)
{
    const struct plan_fleet *fleet = needs->minutes->fleet;
    const size_t number = needs->minutes->roster->guests[row->guest].number;
    const double to_s = needs->minutes->reading->to_s;

    for (size_t t = 0; number < fleet->n_guests && t < fleet->n_times; t++) {
        if (!roster_has_hour(row, fleet->from_s + (double)t * fleet->step_s, to_s))
            continue;
        *known += plan_series(fleet, number)[t] != PLAN_CODE_NONE;
        ++*all;
    }
}

static void warn_of_gaps(const struct needs *needs)
{
    const struct plan_fleet *fleet = needs->minutes->fleet;
    const struct roster *roster = needs->minutes->roster;
    double known = 0;
    double all = 0;
    char text[512];

    for (size_t r = 0; r < roster->n_rows; r++)
        if (is_here(needs, &roster->rows[r]))
            count_steps(needs, &roster->rows[r], &known, &all);
    known *= 1 - missed_share(needs);
    if (all * fleet->step_s < 2 * BUCKET_HOUR || known >= SCRAPED_OFTEN * all)
        return;
    snprintf(text, sizeof(text),
             "host %s: %.0f %% of its minutes are known: scrape vmwss-exporter at least once a "
             "minute",
             roster->hosts[needs->host].host.name, 100 * known / all);
    plan_warn(needs->minutes->reading, text);
}

/* --- a host ----------------------------------------------------------------------------------- */

static int ask_for_needs(struct needs *needs)
{
    const struct plan_fleet *fleet = needs->minutes->fleet;
    struct prom_span span = {.from_s = fleet->from_s + fleet->step_s + PROM_MINUTE_LATE_S,
                             .n_times = fleet->n_times,
                             .step_s = fleet->step_s,
                             .n_series = needs->n_numbers};
    struct prom_reader minutes = needs->reader;
    char of[PROM_SELECT_MAX];
    int rc;

    prom_select(of, needs->reader.reading, needs->minutes->roster->hosts[needs->host].host.name);
    rc = url_needs_read(&(struct url_needs){.reader = needs->reader, .of = of, .span = span});
    minutes.see = see_minutes;
    /* VictoriaMetrics refuses more than 30,000 points of a subquery, for all times together. */
    span.n_series = (size_t)fleet->step_s / 6;
    if (rc == 0 && fleet->step_s > BUCKET_MINUTE)
        rc = prom_each(&minutes, &span,
                       "count_over_time((max by (host) (count_over_time("
                       "vmwss_plan_reserve_bytes{%s}[60s])))[%ds:60s])",
                       of, fleet->step_s);
    return rc;
}

/* Asks for the largest need of each day before the time of the plan. */
static int ask_for_earlier(const struct needs *needs)
{
    struct prom_reader reader = needs->reader;
    const struct prom_span days = {.from_s = reader.reading->from_s - PLAN_BEFORE_S + DAY_S +
                                             PROM_MINUTE_LATE_S,
                                   .n_times = (size_t)(PLAN_BEFORE_S / DAY_S),
                                   .step_s = DAY_S,
                                   .n_series = needs->n_numbers};
    char of[PROM_SELECT_MAX];

    reader.see = see_earlier;
    prom_select(of, reader.reading, needs->minutes->roster->hosts[needs->host].host.name);
    return prom_each(&reader, &days,
                     "max by (uuid) (max_over_time(vmwss_plan_need_bytes{%s,window=\"%.10g\"}"
                     "[%ds]))",
                     of, reader.reading->window_s, DAY_S);
}

static int read_host(struct needs *needs)
{
    int rc = number_guests(needs);

    if (rc == 0 && needs->n_numbers > 0)
        rc = ask_for_needs(needs);
    if (rc == 0 && needs->n_numbers > 0)
        rc = ask_for_earlier(needs);
    if (rc == 0 && needs->n_numbers > 0) {
        needs->minutes->fleet->hosts[needs->host].missed_share = missed_share(needs);
        warn_of_gaps(needs);
    }
    free(needs->numbers);
    return rc;
}

static int read_hosts(const struct url_minutes *minutes, struct prom_client *client,
                      const struct plan_reading *reading, struct error *error)
{
    const struct roster *roster = minutes->roster;
    int rc = 0;

    for (size_t h = 0; rc == 0 && h < roster->n_hosts; h++) {
        struct needs needs = {.minutes = minutes, .host = h};

        needs.reader = (struct prom_reader){client, reading, see_needs, &needs, error};
        if (roster->hosts[h].source == minutes->source)
            rc = read_host(&needs);
        if (minutes->progress)
            minutes->progress((double)(h + 1) / (double)roster->n_hosts, minutes->context);
    }
    return rc;
}

int plan_read_url(const struct url_minutes *minutes, struct error *error)
{
    struct plan_reading reading = *minutes->reading;
    struct prom_client *client;
    bool partial = false;
    int rc = prom_open(reading.sources[minutes->source].path, reading.prometheus, &client, error);

    if (rc < 0)
        return rc;
    reading.partial = &partial;
    rc = read_hosts(minutes, client, &reading, error);
    for (size_t h = 0; partial && h < minutes->roster->n_hosts; h++)
        if (minutes->roster->hosts[h].source == minutes->source)
            minutes->fleet->hosts[h].partial = true;
    prom_close(client);
    return rc;
}
