// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/cleanup.h"
#include "decide/plan/url_parts.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* The rules record the largest need of each cell of the clock of this length, in the cell but one
 * after it: a query looks ahead to then. */
#define CELL_S 900
#define STEPS_LATE 2
#define AHEAD " offset -1799999ms"
#define RECORDED "max_over_time(vmwss:plan_need_bytes:max15m{$of,$window}[$step]" AHEAD ")"

/* The cells that are recorded completely. */
static const char recorded_cells[] =
    "max by (host) (count_over_time(vmwss_plan_reserve_bytes{$of}[$step] $late)) <= "
    "on (host) max by (host) (max_over_time(vmwss:plan_scrapes:count15m{$of}[$step]" AHEAD ")) "
    "and on (host) max by (host) (" RECORDED ")";

struct recorded {
    const struct prom_span *span;
    uint8_t *cells; /* how many cells of each step are recorded */
};

static int see_cells(struct prom_series *series, void *context)
{
    const struct recorded *recorded = context;
    const struct prom_span *span = recorded->span;
    double end_s;
    double value;

    while (prom_next(series, &end_s, &value)) {
        const double step = ceil((end_s - span->from_s) / span->step_s - 1e-6);

        if (step > -1 && step < (double)span->n_times)
            recorded->cells[(size_t)step]++;
    }
    return 0;
}

/* Returns the begin of the steps that are all recorded, but perhaps for the last ones; infinite:
 * there are none. */
static double recorded_from(const struct prom_span *span, const uint8_t *cells)
{
    const int all = span->step_s / CELL_S;
    size_t end = span->n_times;
    size_t first;

    while (end > 0 && span->n_times - end < STEPS_LATE && cells[end - 1] < all)
        end--;
    for (first = end; first > 0 && cells[first - 1] == all;)
        first--;
    return first < end ? span->from_s + ((double)first - 1) * span->step_s : HUGE_VAL;
}

/* Reads the scraped needs of the steps of which not all cells are recorded. */
static int read_gaps(struct prom_reader *reader, const struct recorded *recorded, prom_see *see,
                     void *context)
{
    struct prom_span span = *recorded->span;
    const int all = span.step_s > CELL_S ? span.step_s / CELL_S : 1;
    int rc = 0;

    for (size_t t = 0; rc == 0 && t < recorded->span->n_times; t += span.n_times) {
        span.from_s = recorded->span->from_s + (double)t * span.step_s;
        span.n_times = 0;
        while (t + span.n_times < recorded->span->n_times &&
               recorded->cells[t + span.n_times] < all)
            span.n_times++;
        if (span.n_times > 0)
            rc = prom_each(reader, &span, SCRAPED_NEEDS, see, context);
        span.n_times += span.n_times == 0;
    }
    return rc;
}

int url_needs_read(struct prom_reader *reader, const struct prom_span *span, prom_see *see,
                   void *context, double *recorded_s)
{
    const struct prom_span cells = {.from_s = span->from_s - span->step_s + CELL_S,
                                    .n_times = span->n_times * (size_t)(span->step_s / CELL_S),
                                    .step_s = CELL_S};
    cleanup_free uint8_t *n_of = calloc(span->n_times + 1, 1);
    struct recorded recorded = {span, n_of};
    int rc = n_of ? 0 : -ENOMEM;

    *recorded_s = HUGE_VAL;
    if (rc == 0 && span->step_s % CELL_S == 0 && prom_may_be_recorded(reader->reading)) {
        rc = prom_each(reader, &cells, recorded_cells, see_cells, &recorded);
        *recorded_s = recorded_from(span, n_of);
        if (rc == 0)
            rc = prom_each(reader, span, "max by (uuid) (" RECORDED ")", see, context);
    }
    return rc == 0 ? read_gaps(reader, &recorded, see, context) : rc;
}
