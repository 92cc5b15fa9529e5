// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file report.c  See report.h: one walk through the buckets, time by time. */
#include "keep/report.h"

#include "base/cleanup.h"
#include "estimate/packing.h"
#include "keep/bucket_need.h"
#include "keep/event.h"
#include "keep/host_need.h"
#include "keep/open_store.h"
#include "keep/report_level.h"
#include "keep/sql.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So many draws in all: the share of 1 % of them is known to 0.07 points. */
#define DRAWS 20000
#define SEED 0x766d777373656564ULL /* the same report twice says the same */

/* A guest while the walk is on. */
struct walked {
    struct report_guest *out;
    struct sketch sketch;
    struct sketch_step *steps; /* of its last bucket */
    size_t n_steps;
    double last_s, period_s, ram_bytes; /* likewise */
    double need_bytes;                  /* likewise */
    double ended_s;                     /* HUGE_VAL: not known to have */
};

struct walk {
    struct report *report;
    size_t n;
    struct walked *guests; /* by id */
    struct packing_guest *present;
    double *totals;
    double *fits;
    size_t n_draws, room, draws_each;
    double time_s; /* of the buckets that are being seen; negative: none yet */
    size_t n_times;
    struct host_needs needs;             /* by time, */
    size_t next_need;                    /* those before are of times that have been seen */
    double short_since_s, short_until_s; /* the episode that goes on; negative: none */
    uint64_t state;
};

/* --- which guests ----------------------------------------------------------------------------- */

static int compare_id(const void *a, const void *b)
{
    int64_t x = ((const struct walked *)a)->out->guest.id;
    int64_t y = ((const struct walked *)b)->out->guest.id;

    return (x > y) - (x < y);
}

static int make_guests(struct walk *walk, const struct history_guest *guests, size_t n)
{
    struct report *report = walk->report;

    report->guests = calloc(n ? n : 1, sizeof(*report->guests));
    walk->guests = calloc(n ? n : 1, sizeof(*walk->guests));
    walk->present = calloc(n ? n : 1, sizeof(*walk->present));
    if (!report->guests || !walk->guests || !walk->present)
        return -ENOMEM;
    report->n_guests = walk->n = n;
    for (size_t g = 0; g < n; g++) {
        report->guests[g].guest = guests[g];
        walk->guests[g].out = &report->guests[g];
        walk->guests[g].last_s = -HUGE_VAL;
        walk->guests[g].ended_s = HUGE_VAL;
        sketch_clear(&walk->guests[g].sketch);
    }
    qsort(walk->guests, n, sizeof(walk->guests[0]), compare_id);
    return 0;
}

static struct walked *find_guest(struct walk *walk, int64_t id)
{
    struct report_guest wanted = {.guest.id = id};
    struct walked key = {.out = &wanted};

    return bsearch(&key, walk->guests, walk->n, sizeof(walk->guests[0]), compare_id);
}

/* --- the walk --------------------------------------------------------------------------------- */

/* So much later than the period says may a look come. */
#define LATE 1.1

/* In a bucket that has a record of it; and in a later one while its next record may be yet to come,
 * which is a period after the end of that bucket at the latest. So a guest measured every five
 * minutes is there in the four minutes that have none, too, and one measured every minute in an
 * hour that has just begun, but not in a whole one. Not after its end, if that is known. */
static bool is_present(const struct walk *walk, const struct walked *guest)
{
    const struct report *report = walk->report;
    double end_s = fmin(walk->time_s + report->level_s, report->options.to_s);

    if (guest->n_steps == 0 || guest->last_s == walk->time_s)
        return guest->n_steps > 0;
    if (guest->ended_s >= guest->last_s && guest->ended_s < walk->time_s)
        return false;
    return end_s < guest->last_s + report->level_s + LATE * guest->period_s;
}

/* What was kept of the sum at this time; NULL: nothing, as of a minute that goes on. */
static const struct host_need *need_now(struct walk *walk)
{
    const struct host_needs *needs = &walk->needs;

    while (walk->next_need < needs->n && needs->all[walk->next_need].start_s < walk->time_s)
        walk->next_need++;
    if (walk->next_need == needs->n || needs->all[walk->next_need].start_s > walk->time_s)
        return NULL;
    return &needs->all[walk->next_need];
}

static double sum_of_needs(const struct walk *walk)
{
    double sum = 0;

    for (size_t g = 0; g < walk->n; g++)
        if (is_present(walk, &walk->guests[g]))
            sum += walk->guests[g].need_bytes;
    return sum;
}

static double draw_total(struct walk *walk, const struct host_need *need, size_t n)
{
    if (need && need->steps) {
        const struct packing_guest all = {.steps = need->steps, .n_steps = need->n_steps};

        return packing_total(&all, 1, &walk->state);
    }
    if (need)
        return need->max_bytes;
    return walk->report->level_s == BUCKET_MINUTE ? sum_of_needs(walk)
                                                  : packing_total(walk->present, n, &walk->state);
}

static void note_draw(struct walk *walk, const struct host_need *need, size_t n)
{
    const struct report_options *options = &walk->report->options;
    double total = draw_total(walk, need, n);

    walk->totals[walk->n_draws] = total;
    if (options->capacity_bytes && options->guest_bytes)
        walk->fits[walk->n_draws] = packing_fit(walk->present, n,
                                                (double)options->capacity_bytes - total,
                                                (double)options->guest_bytes, &walk->state);
    walk->n_draws++;
}

/* How many minutes of an hour were short, of the distribution of their sums. */
static double short_of_hour(const struct host_need *need, double capacity_bytes)
{
    double within = 0;

    for (size_t i = 0; i < need->n_steps && need->steps[i].value <= capacity_bytes; i++)
        within = need->steps[i].up_to;
    return round((1 - within) * (double)need->minutes) * BUCKET_MINUTE;
}

/* Of an hour of which sums were not kept: as the draws say. */
static double short_by_draws(const struct walk *walk, size_t first_draw)
{
    const double capacity_bytes = (double)walk->report->options.capacity_bytes;
    size_t n = 0;

    for (size_t i = first_draw; i < walk->n_draws; i++)
        n += walk->totals[i] > capacity_bytes;
    return n ? BUCKET_HOUR * (double)n / (double)(walk->n_draws - first_draw) : 0;
}

/* What is short for minutes that follow each other is one episode. Hours do not tell, for a
 * shortage lasts minutes. */
static void count_shortage(struct walk *walk, const struct host_need *need, size_t first_draw)
{
    struct report *report = walk->report;
    const double capacity_bytes = (double)report->options.capacity_bytes;

    if (report->level_s != BUCKET_MINUTE) {
        report->short_s += need ? short_of_hour(need, capacity_bytes)
                                : short_by_draws(walk, first_draw);
        return;
    }
    if (walk->n_draws == first_draw || walk->totals[first_draw] <= capacity_bytes) {
        walk->short_since_s = -1;
        return;
    }
    if (walk->short_since_s < 0 || walk->time_s > walk->short_until_s)
        walk->short_since_s = walk->time_s;
    walk->short_until_s = walk->time_s + report->level_s;
    report->short_s += report->level_s;
    report->longest_short_s = fmax(report->longest_short_s,
                                   walk->short_until_s - walk->short_since_s);
}

/* All buckets of one time have been seen. */
static void end_time(struct walk *walk)
{
    const struct report_options *options = &walk->report->options;
    const struct host_need *need = need_now(walk);
    const size_t first_draw = walk->n_draws;
    size_t n = 0;

    for (size_t g = 0; g < walk->n; g++) {
        const struct walked *guest = &walk->guests[g];

        if (is_present(walk, guest))
            walk->present[n++] = (struct packing_guest){guest->steps, guest->n_steps,
                                                        guest->ram_bytes};
    }
    for (size_t i = 0; i < walk->draws_each && walk->n_draws < walk->room; i++)
        if (n > 0 || need)
            note_draw(walk, need, n);
    count_shortage(walk, need, first_draw);
    walk->report->known_s += need ? (double)need->minutes * BUCKET_MINUTE : walk->report->level_s;
    if (need)
        walk->report->total_max = fmax(walk->report->total_max, need->max_bytes);
    if (options->progress)
        options->progress((walk->time_s - walk->report->from_s) /
                              fmax(options->to_s - walk->report->from_s, 1),
                          options->context);
    walk->n_times++;
}

/* Times without a bucket that the last ones still stand for. */
static void pass_times(struct walk *walk, double until_s)
{
    const struct host_needs *needs = &walk->needs;

    for (size_t i = walk->next_need; i < needs->n && needs->all[i].start_s < until_s; i++)
        if (needs->all[i].start_s > walk->time_s) {
            walk->time_s = needs->all[i].start_s;
            end_time(walk);
        }
}

/* Its needs, as new guests like it will have them: as far above what was touched as the upper bound
 * is on average. */
static void take_steps(struct walked *guest, const struct bucket *bucket)
{
    const struct bucket_window *window = &bucket->windows[0];
    const double above = fmax(window->wss_high - window->wss, 0);

    guest->n_steps = sketch_steps(&window->sketch, guest->steps);
    for (size_t i = 0; i < guest->n_steps; i++)
        guest->steps[i].value = fmin(guest->steps[i].value + above, bucket->summary.ram_bytes);
}

static int report_take(struct walked *guest, int64_t start_s, const struct bucket *bucket)
{
    const struct sketch *sketch = &bucket->windows[0].sketch;

    if (!guest->steps)
        guest->steps = malloc(SKETCH_BINS * sizeof(*guest->steps));
    if (!guest->steps)
        return -ENOMEM;
    sketch_merge(&guest->sketch, sketch);
    guest->out->not_measured = false;
    take_steps(guest, bucket);
    guest->last_s = (double)start_s;
    guest->period_s = (double)bucket->period_ms / 1000 / (double)bucket->records;
    guest->ram_bytes = bucket->summary.ram_bytes;
    bucket_need(bucket, &guest->need_bytes);
    guest->out->records += bucket->windows[0].records;
    guest->out->measured_s += (double)sketch->total / 1000;
    guest->out->ram_bytes = (uint64_t)bucket->summary.ram_bytes;
    guest->out->resident_bytes = (uint64_t)bucket->summary.resident_bytes;
    guest->out->unmeasurable_bytes = (uint64_t)bucket->summary.unmeasurable_bytes;
    return 0;
}

/* Nothing is known but its size: all of that is taken to be used. */
static int take_unmeasured(struct walked *guest, int64_t start_s, const struct bucket *bucket)
{
    if (!guest->steps)
        guest->steps = malloc(SKETCH_BINS * sizeof(*guest->steps));
    if (!guest->steps)
        return -ENOMEM;
    guest->steps[0] = (struct sketch_step){.value = bucket->summary.resident_bytes, .up_to = 1};
    guest->n_steps = 1;
    guest->last_s = (double)start_s;
    guest->period_s = (double)bucket->period_ms / 1000 / (double)bucket->records;
    guest->ram_bytes = bucket->summary.ram_bytes;
    guest->need_bytes = bucket->summary.resident_bytes;
    guest->out->not_measured = true;
    guest->out->ram_bytes = (uint64_t)bucket->summary.ram_bytes;
    guest->out->resident_bytes = (uint64_t)bucket->summary.resident_bytes;
    guest->out->unmeasurable_bytes = (uint64_t)bucket->summary.resident_bytes;
    return 0;
}

static int report_see(int64_t guest_id, int64_t start_s, const struct bucket *bucket, void *context)
{
    struct walk *walk = context;
    struct walked *guest = find_guest(walk, guest_id);

    bool measured = bucket->n_windows > 0;

    if (!guest || (!measured && !(bucket->summary.flags & FLAG_NOT_MEASURED)))
        return 0;
    if (walk->time_s >= 0 && (double)start_s > walk->time_s) {
        end_time(walk);
        pass_times(walk, (double)start_s);
    }
    if (walk->time_s < 0)
        walk->report->from_s = (double)start_s;
    walk->time_s = (double)start_s;
    return measured ? report_take(guest, start_s, bucket) : take_unmeasured(guest, start_s, bucket);
}

/* --- what comes of it ------------------------------------------------------------------------- */

static void finish_guest(const struct walk *walk, struct walked *guest)
{
    const struct report *report = walk->report;
    struct report_guest *out = guest->out;

    out->last_s = guest->last_s;
    out->running = is_present(walk, guest) &&
                   !(guest->ended_s >= guest->last_s && guest->ended_s <= report->options.to_s);
    out->wss_p50 = sketch_quantile(&guest->sketch, 0.50);
    out->wss_p95 = sketch_quantile(&guest->sketch, 0.95);
    out->wss_p99 = sketch_quantile(&guest->sketch, 0.99);
    out->wss_max = sketch_quantile(&guest->sketch, 1);
    out->wss_risk = sketch_quantile(&guest->sketch, 1 - report->options.risk);

    if (out->not_measured)
        return;

    double spare = (double)out->resident_bytes - out->wss_risk - (double)out->unmeasurable_bytes;

    out->reclaimable_bytes = out->running && spare > 0 ? (uint64_t)spare : 0;
}

/* Guests without the window fall out; the sums are of those that run. */
static void finish_guests(struct walk *walk)
{
    struct report *report = walk->report;
    size_t kept = 0;

    for (size_t g = 0; g < walk->n; g++)
        finish_guest(walk, &walk->guests[g]);
    for (size_t g = 0; g < report->n_guests; g++) {
        const struct report_guest *guest = &report->guests[g];

        if (guest->records == 0 && !guest->not_measured)
            continue;
        if (guest->running) {
            report->ram_bytes += guest->ram_bytes;
            report->resident_bytes += guest->resident_bytes;
            report->reclaimable_bytes += guest->reclaimable_bytes;
        }
        report->guests[kept++] = *guest;
    }
    report->n_guests = kept;
}

static void finish_host(struct walk *walk)
{
    struct report *report = walk->report;
    double capacity = (double)report->options.capacity_bytes;
    size_t short_of = 0;

    report->n_draws = walk->n_draws;
    report->n_times = walk->n_times;
    report->to_s = walk->time_s + report->level_s;
    report->total_p50 = packing_quantile(walk->totals, walk->n_draws, 0.50);
    report->total_p95 = packing_quantile(walk->totals, walk->n_draws, 0.95);
    report->total_p99 = packing_quantile(walk->totals, walk->n_draws, 0.99);
    report->total_max = fmax(report->total_max, packing_quantile(walk->totals, walk->n_draws, 1));
    report->total_risk = packing_quantile(walk->totals, walk->n_draws, 1 - report->options.risk);
    for (size_t i = 0; i < walk->n_draws; i++)
        short_of += walk->totals[i] > capacity;
    report->shortage = (double)short_of / (double)walk->n_draws;
    report->fit = packing_reached(walk->fits, walk->n_draws, report->options.risk);
}

/* --- together -----------------------------------------------------------------------------------
 */

static int make_room(struct walk *walk, double span_s)
{
    double times = fmax(span_s, 0) / walk->report->level_s + 2;

    if (times > 1e7)
        return -ENOMEM;
    walk->draws_each = (size_t)ceil(DRAWS / times);
    walk->room = walk->draws_each * ((size_t)times + 1);
    walk->totals = calloc(walk->room, sizeof(double));
    walk->fits = calloc(walk->room, sizeof(double));
    return walk->totals && walk->fits ? 0 : -ENOMEM;
}

static int walk_all(struct walk *walk, struct store *store, struct error *error)
{
    struct report *report = walk->report;
    const struct report_options *options = &report->options;
    double from_s;
    int rc = report_level(store, options, &report->level_s, &from_s, error);

    if (rc < 0)
        return rc;
    rc = make_room(walk, options->to_s - from_s);
    if (rc < 0)
        return error_set(error, rc, "%s: no memory for such a span", store->path);

    const struct history_query query = {report->level_s, from_s, options->to_s, options->window_s};

    rc = host_needs_read(store, report->host, &query, &walk->needs, error);
    if (rc == 0)
        rc = history_buckets(store, &query, report_see, walk, error);
    if (rc == -ENOMEM)
        return error_set(error, rc, "%s: out of memory", store->path);
    if (rc < 0)
        return rc;
    if (walk->time_s >= 0) {
        end_time(walk);
        pass_times(walk, options->to_s);
    }
    if (walk->n_draws == 0)
        return report_nothing(store, options, error);
    finish_guests(walk);
    finish_host(walk);
    return 0;
}

static void walk_free(struct walk *walk)
{
    for (size_t g = 0; g < walk->n; g++)
        free(walk->guests[g].steps);
    free(walk->guests);
    free(walk->present);
    free(walk->totals);
    free(walk->fits);
    host_needs_free(&walk->needs);
}

static int read_ends(struct walk *walk, struct store *store, struct error *error)
{
    int rc = 0;

    for (size_t g = 0; rc >= 0 && g < walk->n; g++) {
        struct walked *guest = &walk->guests[g];
        double ended_s;

        rc = history_ended(store, guest->out->guest.id, walk->report->options.to_s, &ended_s,
                           error);
        if (rc == 1)
            guest->ended_s = ended_s;
    }
    return rc < 0 ? rc : 0;
}

int report_make(struct store *store, const struct report_options *options, struct report *report,
                struct error *error)
{
    cleanup_free struct history_guest *guests = NULL;
    struct walk walk = {.report = report, .time_s = -1, .short_since_s = -1, .state = SEED};
    ssize_t n = history_guests(store, &guests, error);
    int rc;

    *report = (struct report){.options = *options};
    if (n >= 0)
        n = report_choose_host(options, guests, n, report->host, error);
    if (n < 0)
        return (int)n;
    rc = make_guests(&walk, guests, (size_t)n);
    rc = rc < 0 ? error_set(error, rc, "%s: out of memory", store->path)
                : read_ends(&walk, store, error);
    if (rc == 0)
        rc = walk_all(&walk, store, error);
    walk_free(&walk);
    if (rc < 0)
        report_free(report);
    return rc;
}

double report_gap_share(const struct report *report)
{
    return fmax(1 - report->known_s / fmax(report->to_s - report->from_s, 1), 0);
}

void report_free(struct report *report)
{
    free(report->guests);
    report->guests = NULL;
}
