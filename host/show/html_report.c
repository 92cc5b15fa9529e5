// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file html_report.c  See html_report.h: the page and the host. */
#include "show/html_report.h"

#include "base/plural.h"
#include "base/text/units.h"
#include "show/html.h"
#include "show/html_chart.h"
#include "show/html_guests.h"
#include "show/html_page.h"
#include "show/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* --- the head --------------------------------------------------------------------------------- */

static void print_heading(FILE *out, const struct html_report *page)
{
    const struct report *report = page->report;

    html_name(out,
              "<body>\n<a class=\"skip\" href=\"#guests-table\">To the table of guests</a>\n"
              "<header><h1>Memory of ",
              report->host, "</h1>\n<p>What its guests had and needed, from ");
    html_time(out, report->from_s);
    fputs(" to ", out);
    html_time(out, report->to_s);
    fprintf(out,
            ". A working set is the memory touched within %s. One step of a curve is %s. All times "
            "are UTC.</p>%s</header>\n<main>\n",
            SECONDS_SHORT_TEXT(report->options.window_s), SECONDS_SHORT_TEXT(page->span->cell_s),
            page->served ? "\n<nav aria-label=\"Pages\"><a href=\"status\">Guests now</a> "
                           "<a href=\"metrics\">Metrics</a></nav>"
                         : "");
}

/* --- the host --------------------------------------------------------------------------------- */

static void bars(FILE *out, const struct report *report)
{
    const struct html_bar all[] = {
        {"capacity", "Capacity", "memory of the host for guests",
         (double)report->options.capacity_bytes, NULL},
        {"assigned", "Assigned", "to the guests that run", (double)report->ram_bytes, NULL},
        {"resident", "Resident", "of it, backed by memory of the host",
         (double)report->resident_bytes, NULL},
        {"peak", "Most needed", "by all together at one time", report->total_max, NULL},
        {"wss", "Needed, p99", "not exceeded for 99 % of the time", report->total_p99, NULL},
        {"wss", "Needed, p50", "not exceeded for half of the time", report->total_p50, NULL},
        {"give", "To give back", "resident and not needed, but for the risk",
         (double)report->reclaimable_bytes, NULL},
    };
    const size_t first = report->options.capacity_bytes > 0 ? 0 : 1;
    const struct html_bars host = {"The host", "Memory", all + first, COUNT(all) - first};

    html_bars(out, &host);
}

/* Writes the sentences of report.h, and how many guests fit. */
static void print_verdict(FILE *out, const struct report *report)
{
    const struct report_voice voice = {out, " %", " ", ""};
    const struct report_options *options = &report->options;
    const bool asked = options->capacity_bytes && options->guest_bytes;

    fputs("<p>", out);
    report_say_need(&voice, report);
    if (asked)
        fprintf(out, " %.0f more guest%s of %s like these would fit at a risk of %g %%.",
                report->fit, plural(report->fit), BYTES_TEXT(options->guest_bytes),
                100 * options->risk);
    report_say_gaps(&voice, report);
    if (asked && report->level_s == BUCKET_HOUR)
        fputs(
            " The history has no minutes for part of that time: fewer guests fit that are busy in the "
            "same minutes as the others.",
            out);
    report_say_few(&voice, report);
    fputs("</p>\n", out);
}

static void add_known(double *sum, double value)
{
    if (isfinite(value))
        *sum = (isfinite(*sum) ? *sum : 0) + value;
}

/* A guest without a working set counts with all its resident memory. */
static void add_cell(struct timeline_cell *sum, const struct timeline_cell *cell)
{
    if (!cell->recorded)
        return;
    sum->recorded = true;
    add_known(&sum->ram, cell->ram);
    add_known(&sum->resident, cell->resident);
    add_known(&sum->wss, isfinite(cell->wss) ? cell->wss : cell->resident);
}

/* The last record of a running guest holds until the next one is late. */
static void add_guest(const struct html_report *page, size_t guest, struct timeline_cell *sums)
{
    const struct timeline_span *span = page->span;
    const struct timeline_cell *cells = &page->cells[guest * span->n_cells];
    size_t end = span->n_cells;

    while (end > 0 && !cells[end - 1].recorded)
        end--;
    for (size_t i = 0; i < end; i++)
        add_cell(&sums[i], &cells[i]);
    for (size_t i = end; end > 0 && i < span->n_cells; i++)
        if (page->report->guests[guest].running &&
            span->begin_s + (double)i * span->cell_s < cells[end - 1].until_s)
            add_cell(&sums[i], &cells[end - 1]);
}

static void add_guests(const struct html_report *page, struct timeline_cell *sums)
{
    const double capacity = (double)page->report->options.capacity_bytes;

    for (size_t i = 0; i < page->span->n_cells; i++)
        sums[i] = (struct timeline_cell){.ram = NAN,
                                         .resident = NAN,
                                         .wss = NAN,
                                         .low = NAN,
                                         .high = NAN,
                                         .has = capacity > 0 ? capacity : NAN};
    for (size_t g = 0; g < page->report->n_guests; g++)
        add_guest(page, g, sums);
}

static const struct html_series host_series[] = {
    {"capacity", "capacity", offsetof(struct timeline_cell, has)},
    {"assigned", "assigned", offsetof(struct timeline_cell, ram)},
    {"resident", "resident", offsetof(struct timeline_cell, resident)},
    {"wss", "working set", offsetof(struct timeline_cell, wss)},
};

static int host(FILE *out, const struct html_report *page)
{
    struct timeline_cell *sums = calloc(page->span->n_cells, sizeof(*sums));
    const struct html_chart chart = {.title = "All guests together",
                                     .name = page->report->host,
                                     .n = COUNT(host_series),
                                     .series = host_series};

    if (!sums)
        return -ENOMEM;
    add_guests(page, sums);
    fprintf(out,
            "<section class=\"card\" aria-label=\"The host\" data-begin=\"%.0f\" "
            "data-cell=\"%.0f\" data-name=\"",
            page->span->begin_s, page->span->cell_s);
    html_text(out, page->report->host);
    fputs("\">\n", out);
    bars(out, page->report);
    print_verdict(out, page->report);
    html_chart(out, page->span, sums, &chart);
    fputs(
        "<p class=\"note\">The curves add up the guests that have a record for that time; a guest "
        "that cannot be measured counts with all its resident memory.</p></section>\n",
        out);
    free(sums);
    return 0;
}

/* --- the page --------------------------------------------------------------------------------- */

static int draw_page(FILE *out, const void *context)
{
    const struct html_report *page = context;
    int rc;

    html_page_begin(out, page->report->host, page->now_s);
    print_heading(out, page);
    rc = host(out, page);
    if (rc < 0)
        return rc;
    html_guests_table(out, page);
    html_guests(out, page);
    html_page_end(out, "vmwss-report", page->now_s);
    return 0;
}

int html_report_write(const struct html_report *page, const char *path, struct error *error)
{
    return html_page_write(path, draw_page, page, error);
}

int html_report_text(const struct html_report *page, char **text, size_t *size, struct error *error)
{
    return html_page_text(draw_page, page, text, size, error);
}
