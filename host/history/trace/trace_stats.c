// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/trace/trace_stats.h"

#include "base/array.h"
#include "base/bytes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Consecutive pages with the same past. Periods count from 1; 0 means never. */
struct stretch {
    uint64_t n;
    uint32_t last;   /* the last period in which the pages were touched and stayed resident */
    uint32_t unseen; /* the last period in which the pages were unmeasurable */
};

struct stretches {
    size_t n;
    struct stretch *at;
};

/* Data of one period, used for stretches that begin or end with it. */
struct moment {
    double begin_s, end_s;
    double watched_s; /* sums over this and all earlier periods */
    uint64_t hidden_bytes, surplus_bytes;
};

/* Sums for computing means. */
struct sums {
    uint64_t n, n_after;
    double window_s, watched_s, bytes, low_bytes, high_bytes, missed;
    uint64_t least_bytes, most_bytes;
};

struct trace_stats {
    const struct trace_head *head;
    const struct trace_layout *layout;
    uint32_t t;          /* number of the period, counted since the layout */
    double draws, units; /* draws and units of touched pages, since the layout */
    struct stretches past;
    struct moment *moments; /* moments[t] is for period t; moments[0] is empty */
    struct sums readings[RUN_MAX_WINDOWS];
    struct sums spans[TRACE_MAX_SPANS]; /* spans[s]: stretches of 1 << s periods */
};

struct trace_stats *trace_stats_new(const struct trace_head *head)
{
    struct trace_stats *stats = calloc(1, sizeof(*stats));

    if (stats)
        stats->head = head;
    return stats;
}

void trace_stats_free(struct trace_stats *stats)
{
    if (!stats)
        return;
    free(stats->past.at);
    free(stats->moments);
    free(stats);
}

/* --- stretches -------------------------------------------------------------------------------- */

static int append_stretch(struct stretches *list, const struct stretch *stretch)
{
    struct stretch *end = list->n ? &list->at[list->n - 1] : NULL;

    if (end && end->last == stretch->last && end->unseen == stretch->unseen) {
        end->n += stretch->n;
        return 0;
    }

    return array_put(&list->at, &list->n, stretch, sizeof(*list->at));
}

int trace_stats_layout(struct trace_stats *stats, const struct trace_layout *layout)
{
    stats->layout = layout;
    stats->t = 0;
    stats->draws = stats->units = 0;
    stats->past.n = 0;
    return append_stretch(&stats->past, &(struct stretch){.n = layout->n});
}

/* --- figures ---------------------------------------------------------------------------------- */

static bool is_complete(const struct trace_layout *layout)
{
    return layout->n == layout->ram_pages;
}

/* Limits a number from the file to what a machine's memory can have. */
static uint64_t whole_bytes(double bytes)
{
    return (uint64_t)llround(fmin(bytes, 1e18));
}

/* @p draws: draws per observation; @p n: all draws, from a population of @p population. */
static struct interval share_of(double part, double n, double population, double draws)
{
    double observations = finite_population_n(n / draws, population);

    return wilson_interval(part / n * observations, observations, Z_95);
}

struct trace_bytes trace_stats_bytes(const struct trace_layout *layout,
                                     const struct trace_change *change, uint64_t pages)
{
    const double bytes = (double)pages * change->page_bytes;
    const double all_bytes = (double)layout->n * change->page_bytes;

    if (is_complete(layout))
        return (struct trace_bytes){whole_bytes(bytes), whole_bytes(bytes), whole_bytes(bytes)};

    struct interval share = share_of((double)pages, (double)layout->n, (double)layout->ram_pages,
                                     change->design);

    return (struct trace_bytes){whole_bytes(bytes), whole_bytes(floor(share.low * all_bytes)),
                                whole_bytes(ceil(share.high * all_bytes))};
}

struct interval trace_stats_share(const struct trace_layout *layout,
                                  const struct trace_change *change, uint64_t part, uint64_t of)
{
    const double exact = of ? (double)part / (double)of : 0;

    if (of == 0)
        return (struct interval){0, 1};
    if (is_complete(layout))
        return (struct interval){exact, exact};
    /* of the pages of that kind in RAM, this many were drawn */
    return share_of((double)part, (double)of,
                    (double)of * (double)layout->ram_pages / (double)layout->n, change->design);
}

/* --- a period --------------------------------------------------------------------------------- */

/* Pages of a period, classified by their past. */
struct counts {
    /* numbers of present pages, indexed by the smallest s such that the page was touched in the
     * last 1 << s periods */
    uint64_t within[TRACE_MAX_SPANS + 1];
    /* indexed by the smallest s such that a page touched now was also touched at most 1 << s
     * periods ago */
    uint64_t again[TRACE_MAX_SPANS + 1];
    /* pages that were unmeasurable at some time in the last 1 << s periods, counted at the smallest
     * such s ... */
    uint64_t unseen_from[TRACE_MAX_SPANS + 1];
    /* ... and at the smallest s for which they were also touched */
    uint64_t unseen_to[TRACE_MAX_SPANS + 1];
};

/* Returns the smallest s with 1 << s >= n. */
static unsigned span_of(uint64_t n)
{
    return n <= 1 ? 0 : 64U - (unsigned)__builtin_clzll(n - 1);
}

static void count_past(struct counts *counts, const struct stretch *now, uint32_t t)
{
    const unsigned touched = now->last ? span_of(t - now->last + 1) : TRACE_MAX_SPANS;

    if (now->last)
        counts->within[touched] += now->n;
    if (now->unseen > now->last) {
        counts->unseen_from[span_of(t - now->unseen + 1)] += now->n;
        counts->unseen_to[touched] += now->n;
    }
}

static void count_change(const struct stretch *past, enum page_state state, uint32_t t,
                         struct counts *counts, struct trace_change *change)
{
    const bool was = past->last > 0 && past->last == t - 1;

    change->gone += page_is_gone(state) ? past->n : 0;
    change->missing += page_is_missing(state) ? past->n : 0;
    change->unmeasurable += state == PAGE_UNMEASURABLE ? past->n : 0;
    if (state == PAGE_TOUCHED) {
        change->touched += past->n;
        change->kept += was ? past->n : 0;
        change->first += past->last == 0 ? past->n : 0;
        if (past->last)
            counts->again[span_of(t - past->last)] += past->n;
    } else if (was) {
        change->departed += past->n;
        change->departed_missing += page_is_missing(state) ? past->n : 0;
        change->departed_unmeasurable += state == PAGE_UNMEASURABLE ? past->n : 0;
    }
}

/* Takes @p past->n pages with the same past and state. */
static int take_piece(struct trace_stats *stats, const struct stretch *past, enum page_state state,
                      struct stretches *next, struct counts *counts, struct trace_change *change)
{
    struct stretch now = *past;

    count_change(past, state, stats->t, counts, change);
    if (state == PAGE_TOUCHED)
        now.last = stats->t;
    if (state == PAGE_UNMEASURABLE)
        now.unseen = stats->t;
    if (!page_is_missing(state))
        count_past(counts, &now, stats->t);
    return append_stretch(next, &now);
}

static int take_runs(struct trace_stats *stats, const struct trace_period *period,
                     struct counts *counts, struct trace_change *change)
{
    struct stretches next = {0};
    size_t s = 0;
    uint64_t used = 0; /* number of pages in the set of stretch s */
    int rc = 0;

    for (size_t r = 0; rc == 0 && r < period->n_runs; r++) {
        for (uint64_t left = period->runs[r].n; rc == 0 && left > 0;) {
            struct stretch piece = stats->past.at[s];

            piece.n = smaller(left, piece.n - used);
            rc = take_piece(stats, &piece, period->runs[r].state, &next, counts, change);
            left -= piece.n;
            used += piece.n;
            if (used == stats->past.at[s].n) {
                s++;
                used = 0;
            }
        }
    }
    free(stats->past.at);
    stats->past = next;
    return rc;
}

/* Several draws in one huge page are one observation. A census does not use the number. */
static uint64_t count_units(const struct trace_layout *layout, const struct trace_period *period)
{
    uint64_t units = 0;
    uint64_t i = 0;
    uint64_t last = UINT64_MAX;

    if (!layout->page)
        return 0;
    for (size_t r = 0; r < period->n_runs; i += period->runs[r++].n) {
        const struct trace_run *run = &period->runs[r];

        for (uint64_t k = 0; run->state == PAGE_TOUCHED && k < run->n; k++) {
            uint64_t unit = layout->page[i + k] >> run->order << run->order;

            units += run->order == 0 || unit != last;
            last = unit;
        }
    }
    return units;
}

static double design(struct trace_stats *stats, const struct trace_change *change)
{
    if (change->units == 0)
        return stats->units > 0 ? stats->draws / stats->units : 1;
    stats->draws += (double)change->touched;
    stats->units += (double)change->units;
    return fmax((double)change->touched / (double)change->units, stats->draws / stats->units);
}

static double page_bytes(const struct trace_layout *layout, const struct trace_period *period,
                         uint64_t touched)
{
    const uint64_t wss_bytes = period->readings[period->n_readings - 1].wss_bytes;

    if (!is_complete(layout) && touched > 0 && wss_bytes > 0)
        return (double)wss_bytes / (double)touched;
    return (double)TRACE_PAGE_BYTES * (double)layout->ram_pages / (double)layout->n;
}

/* --- sums ------------------------------------------------------------------------------------- */

static void add_range(struct sums *sums, double window_s, double watched_s,
                      const struct trace_bytes *bytes)
{
    sums->least_bytes = sums->n ? smaller(sums->least_bytes, bytes->bytes) : bytes->bytes;
    sums->most_bytes = larger(sums->most_bytes, bytes->bytes);
    sums->n++;
    sums->window_s += window_s;
    sums->watched_s += watched_s;
    sums->bytes += (double)bytes->bytes;
    sums->low_bytes += (double)bytes->low_bytes;
    sums->high_bytes += (double)bytes->high_bytes;
}

static struct trace_bytes bytes_of_reading(const struct trace_reading *reading)
{
    return (struct trace_bytes){reading->wss_bytes, reading->wss_low_bytes,
                                reading->wss_high_bytes};
}

static void add_readings(struct trace_stats *stats, const struct trace_period *period)
{
    for (size_t r = 0; r + 1 < period->n_readings; r++) {
        const struct trace_bytes bytes = bytes_of_reading(&period->readings[r]);
        const double window_s = period->readings[r].est_window_s;

        add_range(&stats->readings[r], window_s, window_s, &bytes);
    }
}

/* Adds bounds for the effect of a period's flags, which its pages do not show; for several periods
 * their sum is a bound. */
static int note_moment(struct trace_stats *stats, const struct trace_period *period,
                       const struct trace_bytes *own)
{
    const struct trace_reading *last = &period->readings[period->n_readings - 1];

    struct moment *more = array_grow(stats->moments, stats->t, sizeof(*more));

    if (!more)
        return -ENOMEM;
    stats->moments = more;

    struct moment *now = &stats->moments[stats->t];
    const struct moment before = stats->t > 1 ? now[-1] : (struct moment){0};

    if (stats->t == 1)
        stats->moments[0] = (struct moment){0};
    *now = (struct moment){
        .begin_s = trace_begin_unix_s(period),
        .end_s = period->end_unix_s,
        .watched_s = before.watched_s + last->est_window_s,
        .hidden_bytes = before.hidden_bytes + less(last->wss_high_bytes, own->high_bytes),
        .surplus_bytes = before.surplus_bytes + less(own->low_bytes, last->wss_low_bytes),
    };
    return 0;
}

static void add_missed(struct sums *sums, uint64_t again, uint64_t touched)
{
    if (touched == 0)
        return;
    sums->n_after++;
    sums->missed += (double)(touched - again) / (double)touched;
}

/* Adds the stretches that end with this period. */
static void add_spans(struct trace_stats *stats, const struct trace_period *period,
                      const struct counts *counts, const struct trace_change *change)
{
    const struct moment *now = &stats->moments[stats->t];
    const uint64_t least = period->readings[period->n_readings - 1].wss_low_bytes;
    const uint64_t ram_bytes = stats->layout->ram_pages * TRACE_PAGE_BYTES;
    uint64_t touched = 0;
    uint64_t unseen = 0;
    uint64_t again = 0;

    for (unsigned s = 0; s < TRACE_MAX_SPANS && 1ULL << s <= stats->t; s++) {
        const struct moment *first = &stats->moments[stats->t - (1U << s) + 1];
        const struct moment *before = first - 1;

        touched += counts->within[s];
        unseen += counts->unseen_from[s] - counts->unseen_to[s];
        again += counts->again[s];

        struct trace_bytes bytes = trace_stats_bytes(stats->layout, change, touched);

        bytes.high_bytes += whole_bytes((double)unseen * change->page_bytes) + now->hidden_bytes -
                            before->hidden_bytes;
        bytes.high_bytes = smaller(bytes.high_bytes, larger(ram_bytes, bytes.bytes));
        bytes.low_bytes = larger(less(bytes.low_bytes, now->surplus_bytes - before->surplus_bytes),
                                 least);
        if (s == 0)
            bytes = bytes_of_reading(&period->readings[period->n_readings - 1]);
        /* periods do not overlap, even if the clock was set */
        const double watched_s = now->watched_s - before->watched_s;

        add_range(&stats->spans[s], fmax(now->end_s - first->begin_s, watched_s), watched_s,
                  &bytes);
        if (1ULL << s < stats->t)
            add_missed(&stats->spans[s], again, change->touched);
    }
}

int trace_stats_period(struct trace_stats *stats, const struct trace_period *period,
                       struct trace_change *change)
{
    struct counts counts = {0};

    *change = (struct trace_change){0};
    if (stats->t == UINT32_MAX - 1)
        return -EOVERFLOW;
    stats->t++;
    change->has_before = stats->t > 1;

    int rc = take_runs(stats, period, &counts, change);

    change->units = count_units(stats->layout, period);
    change->design = design(stats, change);
    change->page_bytes = page_bytes(stats->layout, period, change->touched);
    if (rc < 0)
        return rc;

    struct trace_bytes own = trace_stats_bytes(stats->layout, change, change->touched);

    own.high_bytes += whole_bytes((double)change->unmeasurable * change->page_bytes);
    rc = note_moment(stats, period, &own);
    if (rc < 0)
        return rc;
    add_readings(stats, period);
    add_spans(stats, period, &counts, change);
    return 0;
}

/* --- answers ---------------------------------------------------------------------------------- */

static struct trace_span mean(const struct sums *sums, uint64_t periods)
{
    const double n = (double)sums->n;

    return (struct trace_span){
        .periods = periods,
        .n = sums->n,
        .window_s = sums->window_s / n,
        .watched_s = sums->watched_s / n,
        .wss = {whole_bytes(sums->bytes / n), whole_bytes(sums->low_bytes / n),
                whole_bytes(sums->high_bytes / n)},
        .least_bytes = sums->least_bytes,
        .most_bytes = sums->most_bytes,
        .n_after = sums->n_after,
        .missed = sums->n_after ? sums->missed / (double)sums->n_after : 0,
    };
}

size_t trace_stats_spans(const struct trace_stats *stats, struct trace_span *spans, size_t max)
{
    size_t n = 0;

    for (size_t r = 0; r < RUN_MAX_WINDOWS && n < max && stats->readings[r].n; r++)
        spans[n++] = mean(&stats->readings[r], 0);
    for (size_t s = 0; s < TRACE_MAX_SPANS && n < max && stats->spans[s].n; s++)
        spans[n++] = mean(&stats->spans[s], 1ULL << s);
    return n;
}
