// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file url_needs.c  See url_needs.h. */
#include "decide/plan/url_needs.h"

#include "base/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* The rules record the largest need of each cell of the clock of this length, in the cell but one
 * after it. At the end of a cell plus PROM_MINUTE_LATE_S a query looks ahead to then. */
#define CELL_S 900
#define STEPS_LATE 2
#define AHEAD_S (2 * CELL_S - 60)
#define RECORDED "max_over_time(vmwss:plan_need_bytes:max15m{%s,window=\"%.10g\"}[%ds] offset -%ds)"

struct recorded {
    const struct url_needs *needs;
    uint8_t *cells; /* how many cells of each step are recorded */
};

static int see_cells(struct prom_series *series, void *context)
{
    const struct recorded *recorded = context;
    const struct prom_span *span = &recorded->needs->span;
    double end_s;
    double value;

    while (prom_next(series, &end_s, &value)) {
        const double step = ceil((end_s - span->from_s) / span->step_s - 1e-6);

        if (step > -1 && step < (double)span->n_times)
            recorded->cells[(size_t)step]++;
    }
    return 0;
}

/* Returns the begin of the steps that are all recorded, but perhaps for the last ones. */
static double recorded_from(const struct url_needs *needs, const uint8_t *cells)
{
    const struct prom_span *span = &needs->span;
    const int all = span->step_s / CELL_S;
    size_t first = span->n_times;

    for (size_t late = 0; late < STEPS_LATE && first > 0 && cells[first - 1] < all; late++)
        first--;
    while (first > 0 && cells[first - 1] == all)
        first--;
    return span->from_s - PROM_MINUTE_LATE_S + ((double)first - 1) * span->step_s;
}

/* Asks for the cells that are recorded completely. */
static int count_cells(struct recorded *recorded)
{
    const struct url_needs *needs = recorded->needs;
    const struct prom_reader reader = {needs->reader.client, needs->reader.reading, see_cells,
                                       recorded, needs->reader.error};
    const struct prom_span cells = {.from_s = needs->span.from_s - needs->span.step_s + CELL_S,
                                    .n_times = needs->span.n_times *
                                               (size_t)(needs->span.step_s / CELL_S),
                                    .step_s = CELL_S};

    return prom_each(&reader, &cells,
                     "max by (host) (count_over_time(vmwss_plan_reserve_bytes{%s}[%ds])) "
                     "<= on (host) max by (host) ("
                     "max_over_time(vmwss:plan_scrapes:count15m{%s}[%ds] offset -%ds)) "
                     "and on (host) max by (host) (" RECORDED ")",
                     needs->of, CELL_S, needs->of, CELL_S, AHEAD_S, needs->of,
                     reader.reading->window_s, CELL_S, AHEAD_S);
}

static int ask_scraped(const struct url_needs *needs, size_t first, size_t end)
{
    const struct prom_span span = {.from_s = needs->span.from_s +
                                             (double)first * needs->span.step_s,
                                   .n_times = end - first,
                                   .step_s = needs->span.step_s,
                                   .n_series = needs->span.n_series};

    return prom_each(&needs->reader, &span,
                     "max by (uuid) (max_over_time(vmwss_plan_need_bytes{%s,window=\"%.10g\"}"
                     "[%ds]))",
                     needs->of, needs->reader.reading->window_s, span.step_s);
}

static int ask_gaps(const struct url_needs *needs, const uint8_t *cells)
{
    const int all = needs->span.step_s / CELL_S;
    int rc = 0;

    for (size_t t = 0; rc == 0 && t < needs->span.n_times; t++) {
        size_t end = t;

        while (end < needs->span.n_times && cells[end] < all)
            end++;
        if (end > t)
            rc = ask_scraped(needs, t, end);
        t = end;
    }
    return rc;
}

int url_needs_read(struct url_needs *needs)
{
    const struct prom_reader *reader = &needs->reader;
    const struct prom_span *span = &needs->span;
    cleanup_free uint8_t *cells = calloc(span->n_times + 1, 1);
    int rc;

    needs->recorded_s = HUGE_VAL;
    if (!cells)
        return error_set(reader->error, -ENOMEM, "%s: out of memory", prom_url(reader->client));
    if (span->step_s % CELL_S != 0 || !prom_may_be_recorded(reader->reading))
        return ask_scraped(needs, 0, span->n_times);
    rc = count_cells(&(struct recorded){needs, cells});
    needs->recorded_s = recorded_from(needs, cells);
    if (rc == 0)
        rc = prom_each(reader, span, "max by (uuid) (" RECORDED ")", needs->of,
                       reader->reading->window_s, span->step_s, AHEAD_S);
    return rc == 0 ? ask_gaps(needs, cells) : rc;
}
