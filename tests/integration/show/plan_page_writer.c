// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file plan_page_writer.c  Plans a made-up fleet with hosts of all kinds, and writes its page and
 * its JSON, for plan_page.sh.
 *
 *   plan_page_writer HOSTS GUESTS PAGE JSON   GUESTS on each host; 28 days in steps of an hour
 *
 * All guests have a daily rhythm. By the last digit of its number a host 1: has a hostile name, as
 * its guests have; 2: grows; 3: is short; 4: is empty; 5: is stale; 6: has three days of history;
 * 7: idles, so that it could be emptied. Of the tenth the first guest is pinned; of each the second
 * is suspended, the third cannot be measured, the fourth has a right size of ten minutes. Of host 9
 * the fifth and sixth guest are to be apart.
 */
#include "hostile_names.h"

#include "base/clock.h"
#include "show/html_plan.h"
#include "show/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define GIB (1ULL << 30)
#define HOUR_S 3600
#define DAY_S 86400.0
#define DAYS 28
/* 2026-01-05T00:00:00Z, a Monday. */
#define FROM_S 1767571200.0

static void make_host(struct plan_host *host, size_t h, size_t guests)
{
    if (h % 10 == 1)
        snprintf(host->name, sizeof(host->name), "%s %zu", hostile_name(h / 10), h);
    else
        snprintf(host->name, sizeof(host->name), "compute-%04zu.example", h);
    host->capacity_bytes = (h % 10 == 3 ? 3 : 9) * guests * GIB;
    host->reserve_bytes = 2 * GIB;
    host->stale = h % 10 == 5;
    host->last_s = FROM_S + (host->stale ? DAYS - 2 : DAYS) * DAY_S;
}

static void make_guest(struct plan_guest *guest, size_t h, size_t g, size_t number)
{
    if (h % 10 == 1)
        snprintf(guest->name, sizeof(guest->name), "%s %zu", hostile_name(g), number);
    else
        snprintf(guest->name, sizeof(guest->name), "instance-%08zx", number);
    snprintf(guest->uuid, sizeof(guest->uuid), "%08zx-1111-4111-8111-111111111111", number);
    /* An empty host has a place for guests that its neighbour has. */
    guest->host = h % 10 == 4 ? h - 1 : h;
    guest->ram_bytes = (4 + number % 5 * 2) * GIB;
    guest->size_window_s = g == 3 ? 600 : 3600;
    guest->size_bytes = g == 2 ? 0 : (0.3 + 0.06 * (double)(number % 11)) * 6e9;
    guest->pinned = h % 10 == 0 && g == 0;
    guest->suspended = g == 1;
    guest->unmeasured = g == 2;
    guest->apart = h == 9 && (g == 4 || g == 5) ? 1 : 0;
}

/* Share of its RAM that it needs. */
static double load_of(size_t h, size_t number, double day)
{
    const double rhythm = 0.3 - 0.15 * cos(2 * M_PI * (day + 0.04 * (double)(number % 9)));
    const double growth = h % 10 == 2 ? 0.01 * day : 0;

    if (h % 10 == 7)
        return 0.02;
    return fmin(rhythm + growth + 0.02 * sin((double)number * 37 + day * 11), 1);
}

static void note_needs(struct plan_fleet *fleet, size_t h, size_t number)
{
    const double ram = (double)fleet->guests[number].ram_bytes;

    for (size_t t = 0; t < fleet->n_times; t++) {
        const double day = (double)t / 24;

        if (h % 10 != 6 || day >= DAYS - 3)
            plan_note(fleet, number, FROM_S + (double)t * HOUR_S, HOUR_S,
                      ram * load_of(h, number, day));
    }
}

static int make_fleet(struct plan_fleet *fleet, size_t hosts, size_t guests)
{
    int rc = plan_fleet_make(fleet, hosts, hosts * guests, FROM_S, FROM_S + DAYS * DAY_S, HOUR_S);

    for (size_t h = 0; rc == 0 && h < hosts; h++) {
        make_host(&fleet->hosts[h], h, guests);
        for (size_t g = 0; g < guests; g++) {
            make_guest(&fleet->guests[h * guests + g], h, g, h * guests + g);
            note_needs(fleet, h, h * guests + g);
        }
    }
    return rc;
}

static int write_both(const struct plan_shown *shown, char **argv)
{
    char *warnings[] = {"http://prometheus:9090: host <b>lost</b> is left out"};
    const struct html_plan page = {shown, warnings, 1, FROM_S + DAYS * DAY_S};
    struct error error = {0};
    const double began_s = own_cpu_s();
    int rc = html_plan_write(&page, argv[3], &error);

    printf("%.3f s of CPU time for the page\n", own_cpu_s() - began_s);
    if (rc < 0)
        fprintf(stderr, "%s\n", error.text);
    if (rc == 0 && (!freopen(argv[4], "w", stdout) || plan_print(shown, SHOW_JSON) < 0))
        rc = -1;
    return rc;
}

int main(int argc, char **argv)
{
    struct plan_request request = {
        .options = {.risk = 0.001, .horizon_s = 14 * DAY_S, .max_moves = (size_t)-1},
        .place_bytes = {(double)(8 * GIB), 1e15},
        .n_place = 2,
        .consolidate = true};
    struct plan_fleet fleet;
    struct plan_result result;
    int rc;

    if (argc != 5 ||
        make_fleet(&fleet, strtoul(argv[1], NULL, 10), strtoul(argv[2], NULL, 10)) < 0 ||
        plan_make(&fleet, &request, &result) < 0)
        return 1;

    const struct plan_shown shown = {&fleet, &request, &result, 60, 0.99};

    rc = write_both(&shown, argv);
    plan_result_free(&result);
    plan_fleet_free(&fleet);
    return rc < 0 ? 1 : 0;
}
