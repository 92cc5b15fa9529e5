// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file trace.c  The tables and the JSON of a trace; see trace.h. */
#include "show/trace.h"

#include "base/text/units.h"
#include "base/utf8.h"
#include "show/note.h"
#include "show/sheet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MICRO 1e-6 /* as in sample_json.c */

struct trace_printer {
    const struct trace_reader *reader;
    struct trace_stats *stats;
    struct sheet sheet; /* the list of periods is open in it */
    double first_s;     /* start of the first period */
    uint64_t pages;     /* number of sampled pages, from the last layout */
    double page_bytes;
};

static void fill_seconds(struct sheet *sheet, const char *key, double value)
{
    sheet_seconds(sheet, key, sheet_rounded(value, MICRO));
}

static void fill_wss(struct sheet *sheet, uint64_t bytes, uint64_t low, uint64_t high)
{
    sheet_bytes(sheet, "wss_bytes", bytes);
    sheet_bytes(sheet, "wss_low_bytes", low);
    sheet_bytes(sheet, "wss_high_bytes", high);
    sheet_cell(sheet, "error", "%s", ERROR_TEXT(bytes, low, high));
}

/* --- periods ---------------------------------------------------------------------------------- */

static const struct sheet_column period_columns[] = {
    {"time", {.name = "TIME"}},
    {"window", {.name = "WINDOW", .right = true, .rank = 4}},
    {"wss", {.name = "WSS", .right = true}},
    {"error", {.name = "±", .right = true, .rank = 1}},
    {"reused", {.name = "REUSED", .right = true, .rank = 2}},
    {"new_bytes", {.name = "NEW", .right = true, .rank = 3}},
    {"departed_bytes", {.name = "DEPARTED", .right = true, .rank = 5}},
    {"flags", {.name = "FLAGS", .last = true, .rank = 3}},
};

static void fill_readings(struct sheet *sheet, const struct trace_period *period)
{
    sheet_list(sheet, "readings", NULL, 0);
    for (size_t r = 0; r < period->n_readings; r++) {
        const struct trace_reading *reading = &period->readings[r];

        sheet_row(sheet);
        fill_seconds(sheet, "est_window_s", reading->est_window_s);
        fill_wss(sheet, reading->wss_bytes, reading->wss_low_bytes, reading->wss_high_bytes);
    }
    sheet_close(sheet);
}

/* A table shows the last reading. */
static void cell_reading(struct sheet *sheet, const struct trace_period *period)
{
    const struct trace_reading *last = &period->readings[period->n_readings - 1];

    sheet_cell(sheet, "time", "%s", TIME_TEXT(period->end_unix_s, 1));
    sheet_cell(sheet, "window", "%s", SECONDS_TEXT(last->est_window_s));
    sheet_cell_bytes(sheet, "wss", (double)last->wss_bytes);
    sheet_cell(sheet, "error", "%s",
               ERROR_TEXT(last->wss_bytes, last->wss_low_bytes, last->wss_high_bytes));
}

static void fill_pages(struct sheet *sheet, const char *key, const struct trace_layout *layout,
                       const struct trace_change *change, uint64_t pages)
{
    const struct trace_bytes bytes = trace_stats_bytes(layout, change, pages);

    sheet_group(sheet, key);
    sheet_bytes(sheet, "bytes", bytes.bytes);
    sheet_bytes(sheet, "low_bytes", bytes.low_bytes);
    sheet_bytes(sheet, "high_bytes", bytes.high_bytes);
    sheet_close(sheet);
}

static void fill_before(struct sheet *sheet, const struct trace_layout *layout,
                        const struct trace_change *change)
{
    const struct interval reused = trace_stats_share(layout, change, change->kept, change->touched);

    if (change->touched > 0)
        sheet_share(sheet, "reused",
                    sheet_rounded((double)change->kept / (double)change->touched, MICRO));
    sheet_real(sheet, "reused_low", sheet_rounded(reused.low, MICRO));
    sheet_real(sheet, "reused_high", sheet_rounded(reused.high, MICRO));
    fill_pages(sheet, "kept", layout, change, change->kept);
    fill_pages(sheet, "new", layout, change, change->touched - change->kept);
    fill_pages(sheet, "first", layout, change, change->first);
    fill_pages(sheet, "departed", layout, change, change->departed);
    fill_pages(sheet, "departed_missing", layout, change, change->departed_missing);
    fill_pages(sheet, "departed_unmeasurable", layout, change, change->departed_unmeasurable);
}

void trace_printer_period(struct trace_printer *printer, const struct trace_change *change)
{
    const struct trace_reader *reader = printer->reader;
    const struct trace_period *period = &reader->period;
    struct sheet *sheet = &printer->sheet;

    if (reader->periods == 1)
        printer->first_s = trace_begin_unix_s(period);
    printer->pages = reader->layout.n;
    printer->page_bytes = change->page_bytes;
    sheet_row(sheet);
    sheet_time(sheet, "begin", trace_begin_unix_s(period), 3);
    sheet_time(sheet, "end", period->end_unix_s, 3);
    fill_seconds(sheet, "marking_s", period->marking_s);
    fill_seconds(sheet, "reading_s", period->reading_s);
    fill_seconds(sheet, "vcpu_seconds", period->vcpu_s);
    sheet_bytes(sheet, "resident_bytes", period->resident_bytes);
    sheet_bytes(sheet, "unmeasurable_bytes", period->unmeasurable_bytes);
    sheet_text(sheet, "flags", *period->flags ? period->flags : NULL);
    fill_readings(sheet, period);
    cell_reading(sheet, period);
    sheet_count(sheet, "pages", reader->layout.n);
    sheet_count(sheet, "touched_pages", change->touched);
    sheet_count(sheet, "kept_pages", change->kept);
    sheet_count(sheet, "gone_pages", change->gone);
    sheet_cell(sheet, "reused", "-");
    sheet_cell(sheet, "new_bytes", "-");
    sheet_cell(sheet, "departed_bytes", "-");
    if (change->has_before)
        fill_before(sheet, &reader->layout, change);
}

/* --- windows ---------------------------------------------------------------------------------- */

static const struct sheet_column span_columns[] = {
    {"periods", {.name = "PERIODS", .right = true}},
    {"window_s", {.name = "WINDOW", .right = true}},
    {"watched", {.name = "WATCHED", .right = true}},
    {"wss_bytes", {.name = "WSS", .right = true}},
    {"error", {.name = "±", .right = true}},
    {"least_bytes", {.name = "LEAST", .right = true}},
    {"most_bytes", {.name = "MOST", .right = true}},
    {"missed", {.name = "MISSED", .right = true}},
};

static void fill_span(struct sheet *sheet, const struct trace_span *span)
{
    sheet_row(sheet);
    sheet_count(sheet, "periods", span->periods);
    if (span->periods == 0)
        sheet_cell(sheet, "periods", "within 1");
    sheet_count(sheet, "stretches", span->n);
    fill_seconds(sheet, "window_s", span->window_s);
    fill_seconds(sheet, "watched_s", span->watched_s);
    sheet_cell(sheet, "watched", "%.0f%%",
               span->window_s > 0 ? 100 * span->watched_s / span->window_s : 0);
    fill_wss(sheet, span->wss.bytes, span->wss.low_bytes, span->wss.high_bytes);
    sheet_bytes(sheet, "least_bytes", span->least_bytes);
    sheet_bytes(sheet, "most_bytes", span->most_bytes);
    sheet_share(sheet, "missed", span->n_after > 0 ? sheet_rounded(span->missed, MICRO) : NAN);
}

static void fill_spans(struct sheet *sheet, const struct trace_stats *stats)
{
    struct trace_span spans[RUN_MAX_WINDOWS + TRACE_MAX_SPANS];
    size_t n = trace_stats_spans(stats, spans, COUNT(spans));

    sheet_list(sheet, "windows", span_columns, COUNT(span_columns));
    for (size_t s = 0; s < n; s++)
        fill_span(sheet, &spans[s]);
    sheet_close(sheet);
}

/* --- the trace -------------------------------------------------------------------------------- */

static void print_head(const struct trace_printer *printer, bool cut)
{
    const struct trace_head *head = &printer->reader->head;
    char text[300];

    if (*head->domain)
        note("%s: ", utf8_printable_copy(text, sizeof(text), head->domain));
    else
        note("pid %llu: ", (unsigned long long)head->pid);
    note("%s, ", utf8_printable_copy(text, sizeof(text), head->accel));
    note("%s %s; ", utf8_printable_copy(text, sizeof(text), head->method),
         head->census ? "census" : "panel");
    note("%llu period%s of %s from %s; ", (unsigned long long)printer->reader->periods,
         printer->reader->periods == 1 ? "" : "s",
         SECONDS_TEXT(head->window_s[head->n_windows - 1]), TIME_TEXT(printer->first_s, 0));
    note("%s\n", cut ? "cut: it was not ended properly"
                     : utf8_printable_copy(text, sizeof(text), printer->reader->end.reason));
}

static void print_claim(const struct trace_printer *printer)
{
    if (printer->reader->head.census)
        note(
            "%s\n",
            "A census: each period sampled every page; figures are counts of pages, not estimates.");
    else if (printer->reader->periods > 0)
        note("A panel of %llu pages, the same in each period: one stands for about %s, and ± is "
             "the 95 %% interval.\n",
             (unsigned long long)printer->pages, BYTES_TEXT((uint64_t)printer->page_bytes));
}

static void fill_head(struct sheet *sheet, const struct trace_reader *reader, bool cut)
{
    const struct trace_head *head = &reader->head;
    json_t *windows = json_array();

    for (size_t w = 0; w < head->n_windows; w++)
        json_array_append_new(windows, json_real(head->window_s[w]));
    sheet_guest(sheet, head->host, head->domain, head->uuid);
    sheet_count(sheet, "pid", head->pid);
    sheet_text(sheet, "accel", head->accel);
    sheet_text(sheet, "method", head->method);
    sheet_bool(sheet, "census", head->census);
    fill_seconds(sheet, "interval_s", head->interval_s);
    sheet_json(sheet, "readings_s", windows);
    sheet_bytes(sheet, "ram_bytes", reader->layout.ram_pages * TRACE_PAGE_BYTES);
    sheet_bool(sheet, "cut", cut);
    sheet_text(sheet, "ended", cut ? NULL : reader->end.reason);
}

struct trace_printer *trace_printer_new(const struct trace_reader *reader,
                                        struct trace_stats *stats, bool json)
{
    struct trace_printer *printer = calloc(1, sizeof(*printer));

    if (!printer)
        return NULL;
    printer->reader = reader;
    printer->stats = stats;
    sheet_begin(&printer->sheet, json ? SHOW_JSON : SHOW_TABLE, "vmwss.trace.v1", NULL);
    sheet_list(&printer->sheet, "periods", period_columns, COUNT(period_columns));
    return printer;
}

int trace_printer_end(struct trace_printer *printer, bool cut)
{
    struct sheet *sheet = &printer->sheet;

    if (sheet->format == SHOW_TABLE) {
        print_head(printer, cut);
        print_claim(printer);
    }
    sheet_close(sheet);
    fill_head(sheet, printer->reader, cut);
    if (printer->reader->periods > 0)
        sheet_note(sheet,
                   "\nWorking set by window; MISSED: of the period after, what was not in it");
    fill_spans(sheet, printer->stats);
    sheet_move_last(sheet, "periods");
    return sheet_end(sheet);
}

void trace_printer_free(struct trace_printer *printer)
{
    if (printer)
        sheet_free(&printer->sheet);
    free(printer);
}
