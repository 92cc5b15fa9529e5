// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/timeline.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "history/bucket_need.h"
#include "history/moments.h"
#include "history/writes.h"
#include "measure/estimate/dirty.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* --- cells ------------------------------------------------------------------------------------ */

/* Returns the shortest cell that divides the span into at most TIMELINE_CELLS cells. */
static double choose_cell(double span_s)
{
    static const double cells_s[] = {60,   120,  300,   600,   900,   1800,
                                     3600, 7200, 10800, 21600, 43200, 86400};
    const size_t n = COUNT(cells_s);

    for (size_t i = 0; i < n; i++)
        if (span_s / cells_s[i] <= TIMELINE_CELLS - 1)
            return cells_s[i];
    return 86400 * ceil(span_s / 86400 / (TIMELINE_CELLS - 1));
}

/* Chooses among many windows: the shortest, the longest, and others evenly between them. */
static void choose_windows(struct timeline_span *span, const double *windows_s, size_t n)
{
    span->n_windows = n < TIMELINE_WINDOWS ? n : TIMELINE_WINDOWS;
    for (size_t w = 0; w < span->n_windows; w++)
        span->windows_s[w] =
            windows_s[span->n_windows < 2 ? 0 : w * (n - 1) / (span->n_windows - 1)];
}

int timeline_span(struct store *store, double from_s, double to_s, double window_s,
                  struct timeline_span *span, struct error *error)
{
    cleanup_free double *windows_s = calloc(RUN_MAX_WINDOWS, sizeof(*windows_s));
    ssize_t n;

    if (!windows_s)
        return error_set(error, -ENOMEM, "out of memory");
    *span = (struct timeline_span){.window_s = window_s};
    span->cell_s = choose_cell(to_s - from_s);
    span->level_s = span->cell_s < BUCKET_HOUR ? BUCKET_MINUTE : BUCKET_HOUR;
    span->begin_s = floor(from_s / span->cell_s) * span->cell_s;
    span->n_cells = (size_t)fmin(ceil((to_s - span->begin_s) / span->cell_s), TIMELINE_CELLS);
    n = history_windows_within(store, 0, from_s, to_s, windows_s, error);
    if (n < 0)
        return (int)n;
    choose_windows(span, windows_s, (size_t)n);
    return 0;
}

/* --- one guest -------------------------------------------------------------------------------- */

/* A mean over time. */
struct mean {
    double sum, weight;
};

struct reading {
    const struct timeline_span *span;
    struct timeline_cell *cells;
    size_t cell; /* cell being filled; n_cells: none yet */
    /* start of its first moment, and the period of that moment's records */
    double first_s, period_s;
    struct mean resident, wss, low, high, psi_some, psi_full, refault, swap_in;
    struct mean windows[TIMELINE_WINDOWS];
};

static void mean_add(struct mean *mean, double value, double weight)
{
    if (!isfinite(value))
        return;
    mean->sum += value * weight;
    mean->weight += weight;
}

static double mean_of(const struct mean *mean)
{
    return mean->weight > 0 ? mean->sum / mean->weight : NAN;
}

static void clear_cell(struct timeline_cell *cell)
{
    *cell = (struct timeline_cell){.ram = NAN,
                                   .resident = NAN,
                                   .wss = NAN,
                                   .low = NAN,
                                   .high = NAN,
                                   .wss_max = NAN,
                                   .written = NAN,
                                   .has = NAN,
                                   .used = NAN,
                                   .psi_some = NAN,
                                   .psi_full = NAN,
                                   .refault = NAN,
                                   .swap_in = NAN};
    for (size_t a = 0; a <= TIMELINE_WINDOWS; a++)
        cell->ages[a] = NAN;
}

static void end_ages(const struct reading *reading, struct timeline_cell *cell)
{
    const size_t n = reading->span->n_windows;
    double shorter = 0;

    for (size_t w = 0; w < n; w++) {
        double wss = mean_of(&reading->windows[w]);

        cell->ages[w] = fmax(wss - shorter, isfinite(wss) ? 0 : NAN);
        shorter = wss;
    }
    cell->ages[n] = isfinite(shorter) ? fmax(cell->resident - shorter, 0) : NAN;
}

/* A record covers the time since the previous record, as defined in store.h. If that is longer than
 * a cell, earlier cells without a record of their own are filled with it. */
static void fill_before(const struct reading *reading)
{
    const struct timeline_span *span = reading->span;
    struct timeline_cell *cells = reading->cells;
    const double since_s = reading->first_s - reading->period_s;

    if (reading->period_s <= span->cell_s)
        return;
    for (size_t i = reading->cell; i > 0 && !cells[i - 1].recorded; i--) {
        if (span->begin_s + (double)(i - 1) * span->cell_s < since_s)
            return;
        cells[i - 1] = cells[reading->cell];
    }
}

static void end_cell(struct reading *reading)
{
    struct timeline_cell *cell = &reading->cells[reading->cell];

    if (reading->cell >= reading->span->n_cells)
        return;
    cell->resident = mean_of(&reading->resident);
    cell->wss = mean_of(&reading->wss);
    cell->low = mean_of(&reading->low);
    cell->high = mean_of(&reading->high);
    cell->psi_some = mean_of(&reading->psi_some);
    cell->psi_full = mean_of(&reading->psi_full);
    cell->refault = mean_of(&reading->refault);
    cell->swap_in = mean_of(&reading->swap_in);
    end_ages(reading, cell);
    fill_before(reading);
}

static void begin_cell(struct reading *reading, size_t cell, const struct history_moment *moment)
{
    const struct bucket *bucket = moment->bucket;

    *reading = (struct reading){
        .span = reading->span,
        .cells = reading->cells,
        .cell = cell,
        .first_s = (double)moment->start_s,
        .period_s = bucket_period_s(bucket),
    };
}

static double known(uint64_t bytes)
{
    return bytes == AGENT_UNKNOWN ? NAN : (double)bytes;
}

static void take_guest(struct reading *reading, struct timeline_cell *cell,
                       const struct guest_stats *stats, double weight)
{
    if (stats->source == GUEST_STATS_NONE)
        return;
    cell->has = known(stats->total_bytes);
    cell->used = fmax(cell->used, known(stats->used_bytes));
    mean_add(&reading->psi_some, stats->psi_some, weight);
    mean_add(&reading->psi_full, stats->psi_full, weight);
    mean_add(&reading->refault, stats->refault_bytes_s, weight);
    mean_add(&reading->swap_in, stats->swap_in_bytes_s, weight);
}

static void take_windows(struct reading *reading, struct timeline_cell *cell,
                         const struct bucket *bucket, double weight)
{
    const struct timeline_span *span = reading->span;
    const struct bucket_window *window = bucket_find(bucket, span->window_s);

    if (window) {
        mean_add(&reading->wss, window->wss, weight);
        mean_add(&reading->low, window->wss_low, weight);
        mean_add(&reading->high, window->wss_high, weight);
        cell->wss_max = fmax(cell->wss_max, (double)window->sketch.max);
    }
    for (size_t w = 0; w < span->n_windows; w++)
        if ((window = bucket_find(bucket, span->windows_s[w])))
            mean_add(&reading->windows[w], window->wss, weight);
}

static int take_moment(const struct history_moment *moment, void *context)
{
    struct reading *reading = context;
    const struct bucket *bucket = moment->bucket;
    const double place = ((double)moment->start_s - reading->span->begin_s) / reading->span->cell_s;
    const double weight = (double)bucket->period_ms;
    struct timeline_cell *cell;

    if (place < 0 || place >= (double)reading->span->n_cells)
        return 0;
    if ((size_t)place != reading->cell) {
        end_cell(reading);
        begin_cell(reading, (size_t)place, moment);
    }
    cell = &reading->cells[reading->cell];
    cell->recorded = true;
    cell->until_s = (double)moment->start_s + reading->span->level_s - BUCKET_MINUTE +
                    bucket_stands_s(bucket_period_s(bucket));
    cell->flags |= bucket->summary.flags;
    cell->ram = bucket->summary.ram_bytes;
    mean_add(&reading->resident, bucket->summary.resident_bytes, weight);
    take_windows(reading, cell, bucket, weight);
    take_guest(reading, cell, &moment->guest, weight);
    return 0;
}

/* A curve holds until the next one, which vmwssd measures seldom, but not for longer than this. */
#define CURVE_STANDS_S 3600

/* Within a window that is longer than the curve's windows, no fewer pages are written. */
static int take_curve(const struct kept_writes *kept, void *context)
{
    const struct reading *reading = context;
    const struct timeline_span *span = reading->span;
    const double place = floor((kept->time_s - span->begin_s) / span->cell_s);
    const double end = (kept->time_s + CURVE_STANDS_S - span->begin_s) / span->cell_s;
    const double bytes = dirty_bytes(&kept->curve, DIRTY_LOW, span->window_s, HUGE_VAL);

    if (kept->curve.n == 0)
        return 0;
    for (size_t i = (size_t)fmax(place, 0); (double)i < end && i < span->n_cells; i++)
        if (reading->cells[i].recorded)
            reading->cells[i].written = bytes;
    return 0;
}

static int read_writes(struct store *store, const struct history_guest *guest,
                       struct reading *reading, struct error *error)
{
    const struct timeline_span *span = reading->span;
    const double end_s = span->begin_s + (double)span->n_cells * span->cell_s;
    const struct history_query query = {.from_s = span->begin_s - CURVE_STANDS_S, .to_s = end_s};

    return history_writes(store, guest->id, &query, take_curve, reading, error);
}

int timeline_read(struct store *store, const struct history_guest *guest,
                  const struct timeline_span *span, struct timeline_cell *cells,
                  struct error *error)
{
    struct reading reading = {.span = span, .cells = cells, .cell = span->n_cells};
    const struct history_query query = {.level_s = span->level_s,
                                        .from_s = span->begin_s,
                                        .to_s = span->begin_s +
                                                (double)span->n_cells * span->cell_s};
    int rc;

    for (size_t i = 0; i < span->n_cells; i++)
        clear_cell(&cells[i]);
    rc = history_moments(store, guest, &query, take_moment, &reading, error);
    if (rc < 0)
        return rc;
    end_cell(&reading);
    return read_writes(store, guest, &reading, error);
}
