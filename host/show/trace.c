// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file trace.c  The tables, and the printer of tables or JSON; see trace.h. */
#include "show/trace.h"

#include "base/text/json.h"
#include "base/text/units.h"
#include "base/utf8.h"
#include "show/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const struct table_column period_columns[] = {
    {.name = "TIME"},
    {.name = "WINDOW", .right = true, .rank = 4},
    {.name = "WSS", .right = true},
    {.name = "±", .right = true, .rank = 1},
    {.name = "REUSED", .right = true, .rank = 2},
    {.name = "NEW", .right = true, .rank = 3},
    {.name = "DEPARTED", .right = true, .rank = 5},
    {.name = "FLAGS", .last = true, .rank = 3},
};
#define N_PERIOD_COLUMNS (sizeof(period_columns) / sizeof(period_columns[0]))

static const struct table_column span_columns[] = {
    {.name = "PERIODS", .right = true}, {.name = "WINDOW", .right = true},
    {.name = "WATCHED", .right = true}, {.name = "WSS", .right = true},
    {.name = "±", .right = true},       {.name = "LEAST", .right = true},
    {.name = "MOST", .right = true},    {.name = "MISSED", .right = true},
};
#define N_SPAN_COLUMNS (sizeof(span_columns) / sizeof(span_columns[0]))

#define CELL 64

struct trace_printer {
    const struct trace_reader *reader;
    struct trace_stats *stats;
    struct table *table; /* table of periods; NULL: JSON */
    json_t *periods;     /* JSON of the periods */
    double first_s;      /* start of the first period */
    uint64_t pages;      /* number of sampled pages, from the last layout */
    double page_bytes;
};

struct trace_printer *trace_printer_new(const struct trace_reader *reader,
                                        struct trace_stats *stats, bool json)
{
    struct trace_printer *printer = calloc(1, sizeof(*printer));

    if (!printer)
        return NULL;
    printer->reader = reader;
    printer->stats = stats;
    if (json)
        printer->periods = json_array();
    else
        printer->table = table_new(period_columns, N_PERIOD_COLUMNS);
    if (printer->periods || printer->table)
        return printer;
    trace_printer_free(printer);
    return NULL;
}

void trace_printer_free(struct trace_printer *printer)
{
    if (!printer)
        return;
    table_free(printer->table);
    json_decref(printer->periods);
    free(printer);
}

/* --- periods ---------------------------------------------------------------------------------- */

static void show_share(char *text, size_t size, uint64_t part, uint64_t of)
{
    if (of > 0)
        snprintf(text, size, "%.1f%%", 100 * (double)part / (double)of);
    else
        snprintf(text, size, "-");
}

static void show_pages(char *text, size_t size, const struct trace_printer *printer,
                       const struct trace_change *change, uint64_t pages)
{
    show_bytes(text, size, trace_stats_bytes(&printer->reader->layout, change, pages).bytes);
}

static int add_row(struct trace_printer *printer, const struct trace_change *change)
{
    const struct trace_period *period = &printer->reader->period;
    const struct trace_reading *last = &period->readings[period->n_readings - 1];
    char cell[N_PERIOD_COLUMNS - 1][CELL];
    const char *cells[N_PERIOD_COLUMNS];

    show_time(cell[0], CELL, period->end_unix_s, 1);
    show_seconds(cell[1], CELL, last->est_window_s);
    show_bytes(cell[2], CELL, last->wss_bytes);
    show_error(cell[3], CELL, last->wss_bytes, last->wss_low_bytes, last->wss_high_bytes);
    for (size_t i = 4; i < 7; i++)
        snprintf(cell[i], CELL, "-");
    if (change->has_before) {
        show_share(cell[4], CELL, change->kept, change->touched);
        show_pages(cell[5], CELL, printer, change, change->touched - change->kept);
        show_pages(cell[6], CELL, printer, change, change->departed);
    }
    for (size_t i = 0; i + 1 < N_PERIOD_COLUMNS; i++)
        cells[i] = cell[i];
    cells[N_PERIOD_COLUMNS - 1] = *period->flags ? period->flags : "-";
    return table_row(printer->table, cells);
}

int trace_printer_period(struct trace_printer *printer, const struct trace_change *change)
{
    const struct trace_reader *reader = printer->reader;

    if (reader->periods == 1)
        printer->first_s = trace_begin_unix_s(&reader->period);
    printer->pages = reader->layout.n;
    printer->page_bytes = change->page_bytes;
    if (printer->table)
        return add_row(printer, change);
    return json_array_append_new(printer->periods, trace_period_json(reader, change)) == 0
               ? 0
               : -ENOMEM;
}

/* --- head and foot ---------------------------------------------------------------------------- */

static void print_head(const struct trace_printer *printer, bool cut)
{
    const struct trace_head *head = &printer->reader->head;
    char text[300];
    char time[40];
    char window[40];

    if (*head->domain)
        printf("%s: ", utf8_printable_copy(text, sizeof(text), head->domain));
    else
        printf("pid %llu: ", (unsigned long long)head->pid);
    printf("%s, ", utf8_printable_copy(text, sizeof(text), head->accel));
    printf("%s %s; ", utf8_printable_copy(text, sizeof(text), head->method),
           head->census ? "census" : "panel");
    printf("%llu period%s of %s from %s; ", (unsigned long long)printer->reader->periods,
           printer->reader->periods == 1 ? "" : "s",
           show_seconds(window, sizeof(window), head->window_s[head->n_windows - 1]),
           show_time(time, sizeof(time), printer->first_s, 0));
    printf("%s\n", cut ? "cut: it was not ended properly"
                       : utf8_printable_copy(text, sizeof(text), printer->reader->end.reason));
}

static void print_claim(const struct trace_printer *printer)
{
    char bytes[40];

    if (printer->reader->head.census)
        puts(
            "A census: each period sampled every page; figures are counts of pages, not estimates.");
    else if (printer->reader->periods > 0)
        printf("A panel of %llu pages, the same in each period: one stands for about %s, and ± is "
               "the 95 %% interval.\n",
               (unsigned long long)printer->pages,
               show_bytes(bytes, sizeof(bytes), (uint64_t)printer->page_bytes));
}

static void add_span(struct table *table, const struct trace_span *span)
{
    char cell[N_SPAN_COLUMNS][CELL];
    const char *cells[N_SPAN_COLUMNS];

    snprintf(cell[0], CELL, "%llu", (unsigned long long)span->periods);
    if (span->periods == 0)
        snprintf(cell[0], CELL, "within 1");
    show_seconds(cell[1], CELL, span->window_s);
    snprintf(cell[2], CELL, "%.0f%%",
             span->window_s > 0 ? 100 * span->watched_s / span->window_s : 0);
    show_bytes(cell[3], CELL, span->wss.bytes);
    show_error(cell[4], CELL, span->wss.bytes, span->wss.low_bytes, span->wss.high_bytes);
    show_bytes(cell[5], CELL, span->least_bytes);
    show_bytes(cell[6], CELL, span->most_bytes);
    if (span->n_after > 0)
        snprintf(cell[7], CELL, "%.1f%%", 100 * span->missed);
    else
        snprintf(cell[7], CELL, "-");
    for (size_t i = 0; i < N_SPAN_COLUMNS; i++)
        cells[i] = cell[i];
    table_row(table, cells);
}

static int print_spans(const struct trace_stats *stats)
{
    struct trace_span spans[RUN_MAX_WINDOWS + TRACE_MAX_SPANS];
    size_t n = trace_stats_spans(stats, spans, sizeof(spans) / sizeof(spans[0]));
    struct table *table = table_new(span_columns, N_SPAN_COLUMNS);

    if (!table)
        return -ENOMEM;
    for (size_t s = 0; s < n; s++)
        add_span(table, &spans[s]);
    puts("\nWorking set by window; MISSED: of the period after, what was not in it");
    table_print(table, true);
    table_free(table);
    return 0;
}

int trace_printer_end(struct trace_printer *printer, bool cut)
{
    if (printer->periods) {
        json_t *object = trace_json(printer->reader, printer->stats, cut);

        json_object_set(object, "periods", printer->periods);
        return json_print_line(object);
    }
    print_head(printer, cut);
    print_claim(printer);
    if (printer->reader->periods == 0)
        return 0;
    table_print(printer->table, true);
    return print_spans(printer->stats);
}
