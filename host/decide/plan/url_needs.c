// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file url_needs.c  See url_needs.h. */
#include "decide/plan/url_needs.h"

#include "base/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Gaps at most this many steps apart are queried together, if the host was not scraped between. */
#define GAPS_APART 2

struct queries {
    char recorded[PROM_QUERY_MAX], scraped[PROM_QUERY_MAX]; /* queries by step */
    /* queries by cell; "": a step is a cell */
    char quarters[PROM_QUERY_MAX], counted[PROM_QUERY_MAX];
};

/* Values for each cell of the span, a quarter of an hour or a step; negative: no value. */
struct cells {
    const struct url_needs *needs;
    int each_s;
    size_t n;
    float *scraped;  /* how often the host was scraped */
    float *counted;  /* how often it had been scraped when its needs were recorded */
    float *recorded; /* nonnegative if any value was recorded */
};

struct marking {
    const struct cells *cells;
    float *marks;
    bool see; /* also call the reader */
};

static int see_marks(const struct prom_answer *answer, size_t series, void *context)
{
    const struct marking *marking = context;
    const struct cells *cells = marking->cells;
    const struct url_needs *needs = cells->needs;
    const double first_s = needs->span.from_s - needs->span.step_s + cells->each_s;
    double end_s;
    double value;

    for (size_t p = 0; p < prom_n_points(answer, series); p++)
        if (prom_point(answer, series, p, &end_s, &value)) {
            const double at = round((end_s - first_s) / cells->each_s);

            if (at >= 0 && at < (double)cells->n)
                marking->marks[(size_t)at] = fmaxf(marking->marks[(size_t)at], (float)value);
        }
    return marking->see ? needs->see(answer, series, needs->context) : 0;
}

static bool is_gap(const struct cells *cells, size_t step)
{
    const size_t each = (size_t)(cells->needs->span.step_s / cells->each_s);

    for (size_t c = step * each; c < (step + 1) * each; c++)
        if (cells->scraped[c] >= 0 &&
            (cells->recorded[c] < 0 || cells->scraped[c] > cells->counted[c]))
            return true;
    return false;
}

static bool is_scraped(const struct cells *cells, size_t step)
{
    const size_t each = (size_t)(cells->needs->span.step_s / cells->each_s);

    for (size_t c = step * each; c < (step + 1) * each; c++)
        if (cells->scraped[c] >= 0)
            return true;
    return false;
}

/* Returns the end of the gap that begins at @p t, joined with the gaps right after it. */
static size_t end_of_gap(const struct cells *cells, size_t t)
{
    size_t end = t;

    for (; t < cells->needs->span.n_times && t < end + GAPS_APART; t++)
        if (is_gap(cells, t))
            end = t + 1;
        else if (is_scraped(cells, t))
            break;
    return end;
}

static int ask_span(const struct url_needs *needs, const char *query, const struct prom_span *span,
                    struct error *error)
{
    return prom_each_piece(needs->client, needs->reading, query, span, needs->see, needs->context,
                           error);
}

/* Queries the scraped samples where not everything is recorded. */
static int ask_gaps(const struct cells *cells, const char *scraped_query, struct error *error)
{
    const struct prom_span *span = &cells->needs->span;
    int rc = 0;

    for (size_t t = 0; rc == 0 && t < span->n_times; t++) {
        const size_t end = is_gap(cells, t) ? end_of_gap(cells, t) : t;
        const struct prom_span gap = {.from_s = span->from_s + (double)t * span->step_s,
                                      .n_times = end - t,
                                      .step_s = span->step_s,
                                      .n_series = span->n_series};

        if (end == t)
            continue;
        rc = ask_span(cells->needs, scraped_query, &gap, error);
        t = end - 1;
    }
    return rc;
}

static int ask_cells(const struct cells *cells, const char *query, float *marks,
                     struct error *error)
{
    const struct url_needs *needs = cells->needs;
    const struct prom_span span = {.from_s = needs->span.from_s - needs->span.step_s +
                                             cells->each_s,
                                   .n_times = cells->n,
                                   .step_s = cells->each_s,
                                   .n_series = 1};
    struct marking marking = {cells, marks, false};

    return prom_each_piece(needs->client, needs->reading, query, &span, see_marks, &marking, error);
}

static int ask_scrapes(const struct cells *cells, struct error *error)
{
    char query[PROM_QUERY_MAX];

    prom_host_query(query, "host", "vmwss_plan_reserve_bytes", cells->needs->of, "count_over_time",
                    cells->each_s);
    return ask_cells(cells, query, cells->scraped, error);
}

/* If a step is one cell, its recorded values also show that the cell is recorded. */
static int ask_recorded(const struct cells *cells, const struct queries *queries,
                        struct error *error)
{
    const struct url_needs *needs = cells->needs;
    const bool is_cell = cells->each_s == needs->span.step_s;
    struct marking marking = {cells, cells->recorded, true};
    int rc = is_cell ? prom_each_piece(needs->client, needs->reading, queries->recorded,
                                       &needs->span, see_marks, &marking, error)
                     : ask_span(needs, queries->recorded, &needs->span, error);

    if (rc == 0 && !is_cell)
        rc = ask_cells(cells, queries->quarters, cells->recorded, error);
    if (rc == 0 && queries->counted[0] != '\0')
        rc = ask_cells(cells, queries->counted, cells->counted, error);
    return rc;
}

static int ask_both(const struct url_needs *needs, const struct queries *queries, int each_s,
                    struct error *error)
{
    const size_t n = needs->span.n_times * (size_t)(needs->span.step_s / each_s);
    cleanup_free float *marks = malloc((3 * n + 1) * sizeof(*marks));
    int rc;

    if (!marks)
        return error_set(error, -ENOMEM, "host %s: out of memory", needs->host);

    const struct cells cells = {needs, each_s, n, marks, marks + n, marks + 2 * n};

    for (size_t c = 0; c < n; c++) {
        cells.scraped[c] = cells.recorded[c] = -1;
        cells.counted[c] = queries->counted[0] == '\0' ? HUGE_VALF : -1;
    }
    rc = ask_recorded(&cells, queries, error);
    if (rc == 0)
        rc = ask_scrapes(&cells, error);
    return rc == 0 ? ask_gaps(&cells, queries->scraped, error) : rc;
}

int url_needs_read(const struct url_needs *needs, struct error *error)
{
    const double window_s = needs->reading->window_s;
    const int step_s = needs->span.step_s;
    struct queries queries;

    prom_needs_query(queries.scraped, needs->of, window_s, step_s);
    if (step_s % PROM_RECORDED_S != 0 || !prom_may_be_recorded(needs->reading))
        return ask_span(needs, queries.scraped, &needs->span, error);
    prom_recorded_query(queries.recorded, needs->of, window_s, step_s);
    prom_quarters_query(queries.quarters, needs->of, window_s);
    prom_counted_query(queries.counted, needs->of);
    return ask_both(needs, &queries, PROM_RECORDED_S, error);
}

int url_sizes_read(const struct url_needs *needs, struct error *error)
{
    const int step_s = needs->span.step_s;
    struct queries queries = {.quarters = "", .counted = ""};

    prom_host_query(queries.scraped, "uuid,window", "vmwss_plan_size_bytes", needs->of,
                    "last_over_time", step_s);
    if (!prom_may_be_recorded(needs->reading))
        return ask_span(needs, queries.scraped, &needs->span, error);
    prom_host_query(queries.recorded, "uuid,window", "vmwss:plan_size_bytes:max", needs->of,
                    "last_over_time", step_s);
    return ask_both(needs, &queries, step_s, error);
}
