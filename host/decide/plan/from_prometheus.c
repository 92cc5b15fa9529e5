// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file from_prometheus.c  See from_prometheus.h: reads the needs. */
#include "decide/plan/from_prometheus.h"

#include "decide/plan/prom_doubt.h"
#include "decide/plan/url_needs.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* If a host is scraped once a minute, at least this share of the minutes is known in the hours of
 * which it has any minutes. */
#define SCRAPED_OFTEN 0.75

/* Number of hosts queried at the same time: the server works on the next answers while one is read.
 */
#define WORKERS 4
#define TICK_MS 200

/* The hosts of one URL, and the threads that read them. */
struct pool {
    const struct url_minutes *from;
    struct url_minutes minutes;  /* the caller's, with these replaced: */
    struct plan_reading reading; /* a copy whose warnings are serialised */
    struct prom_options options; /* a copy without a tick: the waiting thread calls it */
    pthread_mutex_t lock;        /* protects the fleet's series, the caller's functions, and: */
    pthread_cond_t changed;
    size_t next, done; /* indices of hosts in the roster */
    size_t running;
    bool partial; /* an answer was partial */
};

struct worker {
    struct pool *pool;
    struct prom_client *client;
    pthread_t thread;
    struct error error;
    int rc;
};

struct number {
    const char *uuid;
    size_t of; /* index in the fleet */
};

struct needs {
    const struct url_minutes *minutes;
    pthread_mutex_t *lock;
    size_t host;            /* index in the roster */
    struct number *numbers; /* the guests in the plan, by UUID */
    size_t n_numbers;
    size_t hours;   /* their hours, in sum */
    uint8_t *noted; /* one bit for each of their cells with a need */
    size_t n_noted;
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

/* Counts a cell once, though a step that is recorded in part is seen twice: url_needs.h. */
static void count_cell(struct needs *needs, const struct number *number, double cell)
{
    const size_t n_times = needs->minutes->fleet->n_times;
    size_t bit;

    if (!(cell >= 0 && cell < (double)n_times) || number->of >= needs->minutes->fleet->n_guests)
        return;
    bit = (size_t)(number - needs->numbers) * n_times + (size_t)cell;
    needs->n_noted += !(needs->noted[bit / 8] & 1U << bit % 8);
    needs->noted[bit / 8] |= (uint8_t)(1U << bit % 8);
}

static int see_needs(const struct prom_answer *answer, size_t series, void *context)
{
    struct needs *needs = context;
    struct plan_fleet *fleet = needs->minutes->fleet;
    const struct number *number = find_number(needs, prom_label(answer, series, "uuid"));
    double end_s;
    double bytes;

    if (!number)
        return 0;
    pthread_mutex_lock(needs->lock); /* another thread may be reading another host of this guest */
    for (size_t p = 0; p < prom_n_points(answer, series); p++)
        if (prom_amount(answer, series, p, &end_s, &bytes)) {
            const double cell =
                round((end_s - PROM_MINUTE_LATE_S - fleet->from_s) / fleet->step_s) - 1;

            plan_note(fleet, number->of, fleet->from_s + cell * fleet->step_s, fleet->step_s,
                      bytes);
            count_cell(needs, number, cell);
        }
    pthread_mutex_unlock(needs->lock);
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
    if (guest->number >= needs->minutes->fleet->n_guests)
        return 0; /* it may have lived for a part of an hour */
    for (size_t w = 0; w < ROSTER_HOURS / 64; w++)
        needs->hours += (size_t)__builtin_popcountll(row->hours[w]);
    return 0;
}

static int make_noted(struct needs *needs)
{
    needs->noted = calloc(needs->n_numbers * needs->minutes->fleet->n_times / 8 + 1, 1);
    return needs->noted ? 0 : -ENOMEM;
}

/* Numbers the guests that were on the host, wherever they are now. */
static int number_guests(struct needs *needs, struct error *error)
{
    const struct roster *roster = needs->minutes->roster;
    int rc = 0;

    for (size_t r = 0; rc == 0 && r < roster->n_rows; r++)
        if (roster->rows[r].source == needs->minutes->source && roster->rows[r].host == needs->host)
            rc = add_number(needs, &roster->rows[r]);
    if (rc == 0)
        rc = make_noted(needs);
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
    const double known = (double)needs->n_noted * (1 - missed_share(needs));
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
    struct prom_span span = {.from_s = fleet->from_s + fleet->step_s + PROM_MINUTE_LATE_S,
                             .n_times = fleet->n_times,
                             .step_s = fleet->step_s,
                             .n_series = needs->n_numbers};
    char query[PROM_QUERY_MAX];
    char of[PROM_SELECT_MAX];
    int rc;

    prom_select(of, minutes->reading, host);
    rc = url_needs_read(
        &(struct url_needs){client, minutes->reading, host, of, span, see_needs, needs}, error);
    span.n_series = 1;
    span.inner_s = BUCKET_MINUTE;
    prom_minutes_query(query, of, fleet->step_s);
    if (rc == 0 && fleet->step_s > BUCKET_MINUTE)
        rc = prom_each_piece(client, minutes->reading, query, &span, see_minutes, needs, error);
    if (rc < 0)
        return rc;
    fleet->hosts[needs->host].missed_share = missed_share(needs);
    warn_of_gaps(needs);
    return 0;
}

static int read_host(struct worker *worker, size_t host)
{
    struct pool *pool = worker->pool;
    struct needs needs = {.minutes = &pool->minutes, .lock = &pool->lock, .host = host};
    int rc = number_guests(&needs, &worker->error);

    if (rc == 0 && needs.n_numbers > 0)
        rc = ask_for_needs(worker->client, &needs, &worker->error);
    free(needs.numbers);
    free(needs.noted);
    return rc;
}

/* --- several hosts at once -------------------------------------------------------------------- */

static void warn_locked(const char *text, void *context)
{
    struct pool *pool = context;

    pthread_mutex_lock(&pool->lock);
    plan_warn(pool->from->reading, text);
    pthread_mutex_unlock(&pool->lock);
}

/* Takes the next host of the source; returns false if there is none left. */
static bool take_host(struct pool *pool, size_t *host)
{
    const struct roster *roster = pool->from->roster;
    bool any = false;

    pthread_mutex_lock(&pool->lock);
    while (!any && pool->next < roster->n_hosts) {
        *host = pool->next++;
        any = roster->hosts[*host].source == pool->from->source;
    }
    pthread_mutex_unlock(&pool->lock);
    return any;
}

static void end_host(struct pool *pool, int rc)
{
    pthread_mutex_lock(&pool->lock);
    pool->done++;
    if (rc < 0)
        pool->next = pool->from->roster->n_hosts;
    pthread_cond_signal(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
}

static void *work(void *context)
{
    struct worker *worker = context;
    struct pool *pool = worker->pool;
    size_t host = 0;

    while (worker->rc == 0 && take_host(pool, &host)) {
        worker->rc = read_host(worker, host);
        end_host(pool, worker->rc);
    }
    pthread_mutex_lock(&pool->lock);
    pool->running--;
    pthread_cond_signal(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static void report(const struct pool *pool)
{
    const struct url_minutes *from = pool->from;
    const struct prom_options *options = from->reading->prometheus;

    if (from->progress)
        from->progress(fmin((double)pool->done / (double)from->roster->n_hosts, 1), from->context);
    if (options && options->tick)
        options->tick(options->context);
}

/* Waits until all workers have ended. */
static void wait_for_workers(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    while (pool->running > 0) {
        struct timespec until;

        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += TICK_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&pool->changed, &pool->lock, &until);
        report(pool);
    }
    pthread_mutex_unlock(&pool->lock);
}

/* Runs the workers that could be started; returns the error of one that failed. */
static int run_workers(struct pool *pool, struct worker *workers, size_t n, struct error *error)
{
    size_t started = 0;
    int rc = 0;

    for (; started < n; started++) {
        pthread_mutex_lock(&pool->lock);
        pool->running++;
        pthread_mutex_unlock(&pool->lock);
        rc = pthread_create(&workers[started].thread, NULL, work, &workers[started]);
        if (rc == 0)
            continue;
        pthread_mutex_lock(&pool->lock);
        pool->running--;
        pthread_mutex_unlock(&pool->lock);
        break;
    }
    if (started == 0)
        return error_set(error, -rc, "no thread: %s", strerror(rc));
    wait_for_workers(pool);
    rc = 0;
    for (size_t w = 0; w < started; w++) {
        pthread_join(workers[w].thread, NULL);
        if (rc == 0 && workers[w].rc < 0) {
            rc = workers[w].rc;
            *error = workers[w].error;
        }
    }
    return rc;
}

int plan_read_url(const struct url_minutes *minutes, struct error *error)
{
    const struct plan_reading *reading = minutes->reading;
    struct worker workers[WORKERS] = {{0}};
    struct pool pool = {
        .from = minutes,
        .minutes = *minutes,
        .reading = *reading,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .changed = PTHREAD_COND_INITIALIZER,
    };
    size_t n = 0;
    int rc = 0;

    pool.minutes.reading = &pool.reading;
    if (reading->prometheus)
        pool.options = *reading->prometheus;
    pool.options.tick = NULL;
    pool.reading.prometheus = &pool.options;
    pool.reading.warn = warn_locked;
    pool.reading.partial = &pool.partial;
    pool.reading.context = &pool;
    for (; rc == 0 && n < WORKERS; n++) {
        workers[n].pool = &pool;
        rc = prom_open(reading->sources[minutes->source].path, &pool.options, &workers[n].client,
                       error);
    }
    if (rc == 0)
        rc = run_workers(&pool, workers, n, error);
    for (size_t h = 0; pool.partial && h < minutes->roster->n_hosts; h++)
        if (minutes->roster->hosts[h].source == minutes->source)
            minutes->fleet->hosts[h].partial = true;
    while (n-- > 0)
        prom_close(workers[n].client);
    return rc;
}
