// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file report_guests.c  The guests of a report: takes their buckets during the walk, and gives
 * their figures at its end. */
#include "history/report_private.h"

#include "history/bucket_need.h"
#include "history/event.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static int compare_id(const void *a, const void *b)
{
    int64_t x = ((const struct walked *)a)->out->guest.id;
    int64_t y = ((const struct walked *)b)->out->guest.id;

    return (x > y) - (x < y);
}

int walk_make_guests(struct walk *walk, const struct history_guest *guests, size_t n)
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

struct walked *walk_find_guest(struct walk *walk, int64_t id)
{
    struct report_guest wanted = {.guest.id = id};
    struct walked key = {.out = &wanted};

    return bsearch(&key, walk->guests, walk->n, sizeof(walk->guests[0]), compare_id);
}

bool walked_is_present(const struct walk *walk, const struct walked *guest)
{
    const struct report *report = walk->report;
    double end_s = fmin(walk->time_s + report->level_s, report->options.to_s);

    if (guest->n_steps == 0 || guest->last_s == walk->time_s)
        return guest->n_steps > 0;
    if (guest->ended_s >= guest->last_s && guest->ended_s < walk->time_s)
        return false;
    return end_s < guest->last_s + report->level_s + bucket_stands_s(guest->period_s);
}

static bool has_steps(struct walked *guest)
{
    if (!guest->steps)
        guest->steps = malloc(SKETCH_BINS * sizeof(*guest->steps));
    return guest->steps;
}

/* Uses the guest's distribution for new guests like it: the WSS plus the mean distance of its upper
 * bound. */
static void take_steps(struct walked *guest, const struct bucket *bucket)
{
    const struct bucket_window *window = &bucket->windows[0];
    const double above = fmax(window->wss_high - window->wss, 0);

    guest->n_steps = sketch_steps(&window->sketch, guest->steps);
    for (size_t i = 0; i < guest->n_steps; i++)
        guest->steps[i].value = fmin(guest->steps[i].value + above, bucket->summary.ram_bytes);
}

/* If some records of the guest were not measured, all its resident memory counts at these times. */
static void take_last(struct walked *guest, int64_t start_s, const struct bucket *bucket)
{
    const bool assumed = bucket->summary.flags & FLAG_NOT_MEASURED;

    guest->last_s = (double)start_s;
    guest->period_s = bucket_period_s(bucket);
    guest->assumed_bytes = assumed ? bucket->summary.resident_bytes : 0;
    guest->out->assumed |= assumed;
    guest->out->not_measured = bucket->n_windows == 0;
    guest->out->ram_bytes = (uint64_t)bucket->summary.ram_bytes;
    guest->out->resident_bytes = (uint64_t)bucket->summary.resident_bytes;
    guest->out->unmeasurable_bytes = (uint64_t)(bucket->n_windows == 0
                                                    ? bucket->summary.resident_bytes
                                                    : bucket->summary.unmeasurable_bytes);
}

int walked_take(struct walked *guest, int64_t start_s, const struct bucket *bucket)
{
    const struct sketch *sketch = &bucket->windows[0].sketch;

    if (!has_steps(guest))
        return -ENOMEM;
    take_last(guest, start_s, bucket);
    if (bucket->n_windows == 0) {
        guest->steps[0] = (struct sketch_step){.value = bucket->summary.resident_bytes, .up_to = 1};
        guest->n_steps = 1;
        return 0;
    }
    take_steps(guest, bucket);
    sketch_merge(&guest->sketch, sketch);
    guest->out->records += bucket->windows[0].records;
    guest->out->measured_s += (double)sketch->total / 1000;
    return 0;
}

static void finish_guest(const struct walk *walk, struct walked *guest)
{
    const struct report *report = walk->report;
    struct report_guest *out = guest->out;

    out->last_s = guest->last_s;
    out->running = walked_is_present(walk, guest) &&
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

void walk_finish_guests(struct walk *walk)
{
    struct report *report = walk->report;
    size_t kept = 0;

    for (size_t g = 0; g < walk->n; g++)
        finish_guest(walk, &walk->guests[g]);
    for (size_t g = 0; g < report->n_guests; g++) {
        const struct report_guest *guest = &report->guests[g];

        if (guest->records == 0 && !guest->not_measured)
            continue;
        report->n_assumed += guest->assumed;
        if (guest->running) {
            report->ram_bytes += guest->ram_bytes;
            report->resident_bytes += guest->resident_bytes;
            report->reclaimable_bytes += guest->reclaimable_bytes;
        }
        report->guests[kept++] = *guest;
    }
    report->n_guests = kept;
}

int walk_read_ends(struct walk *walk, struct store *store, struct error *error)
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
