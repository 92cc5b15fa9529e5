// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file html_report.c  See html_report.h: the page, its head, and the host. */
#include "show/html_report.h"

#include "base/plural.h"
#include "show/html.h"
#include "show/html_assets.h"
#include "show/html_chart.h"
#include "show/html_guests.h"
#include "show/units.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* --- the head --------------------------------------------------------------------------------- */

static void head(FILE *out, const struct html_report *page)
{
    unsigned long long nonce[2] = {0};

    if (getrandom(nonce, sizeof(nonce), 0) != (ssize_t)sizeof(nonce))
        nonce[0] = (unsigned long long)(page->now_s * 1e6);
    fprintf(out,
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
            "style-src 'unsafe-inline'; script-src 'nonce-%016llx%016llx'; base-uri 'none'; "
            "form-action 'none'\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta name=\"color-scheme\" content=\"light dark\">\n"
            "<meta name=\"generator\" content=\"vmwss " VMWSS_VERSION "\">\n<title>vmwss: ",
            nonce[0], nonce[1]);
    html_text(out, page->report->host);
    fputs("</title>\n<style>\n", out);
    fputs(html_page_css, out);
    fprintf(out, "</style>\n<script nonce=\"%016llx%016llx\">\n", nonce[0], nonce[1]);
    fputs(html_page_js, out);
    fputs("</script>\n</head>\n", out);
}

static void time_element(FILE *out, double time_s)
{
    char machine[40];
    char text[40];

    show_time(machine, sizeof(machine), time_s, 0);
    snprintf(text, sizeof(text), "%.10s %.5s UTC", machine, machine + 11);
    fprintf(out, "<time datetime=\"%s\">%s</time>", machine, text);
}

static void heading(FILE *out, const struct html_report *page)
{
    const struct report *report = page->report;
    char window[24];
    char cell[24];

    fputs(
        "<body>\n<a class=\"skip\" href=\"#table\">To the table of guests</a>\n<header><h1>Memory "
        "of <bdi>",
        out);
    html_text(out, report->host);
    fputs("</bdi></h1>\n<p>What its guests had and needed, from ", out);
    time_element(out, report->from_s);
    fputs(" to ", out);
    time_element(out, report->to_s);
    fprintf(out,
            ". A working set is the memory touched within %s. One step of a curve is %s. All times "
            "are UTC.</p></header>\n<main>\n",
            show_seconds_short(window, sizeof(window), report->options.window_s),
            show_seconds_short(cell, sizeof(cell), page->span->cell_s));
}

/* --- the host --------------------------------------------------------------------------------- */

struct bar {
    const char *style, *name, *note;
    double bytes;
};

static void draw_bar(FILE *out, const struct bar *bar, double scale)
{
    char text[32];

    fprintf(
        out,
        "<tr><th scope=\"row\">%s</th><td class=\"n\">%s</td><td class=\"wide\"><svg class=\"bar\" "
        "viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect "
        "class=\"%s\" width=\"%.0f\" height=\"10\"/></svg></td><td>%s</td></tr>\n",
        bar->name, show_bytes(text, sizeof(text), (uint64_t)bar->bytes), bar->style,
        1000 * bar->bytes / scale, bar->note);
}

static void bars(FILE *out, const struct report *report)
{
    const struct bar all[] = {
        {"capacity", "Capacity", "memory of the host for guests",
         (double)report->options.capacity_bytes},
        {"assigned", "Assigned", "to the guests that run", (double)report->ram_bytes},
        {"resident", "Resident", "of it, backed by memory of the host",
         (double)report->resident_bytes},
        {"peak", "Most needed", "by all together at one time", report->total_max},
        {"wss", "Needed, p99", "not exceeded for 99 % of the time", report->total_p99},
        {"wss", "Needed, p50", "not exceeded for half of the time", report->total_p50},
        {"give", "To give back", "resident and not needed, but for the risk",
         (double)report->reclaimable_bytes},
    };
    double scale = 1;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        scale = fmax(scale, all[i].bytes);
    fputs(
        "<table class=\"bars\"><caption>The host</caption><thead><tr><th scope=\"col\">What</th>"
        "<th scope=\"col\" class=\"n\">Memory</th><th scope=\"col\" class=\"wide\"><span "
        "class=\"hidden\">As a bar</span></th><th scope=\"col\">Which is</th></tr></thead>\n<tbody>\n",
        out);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (i > 0 || all[i].bytes > 0)
            draw_bar(out, &all[i], scale);
    fputs("</tbody></table>\n", out);
}

/* What the figures do not tell. */
static void doubts(FILE *out, const struct report *report)
{
    const struct report_options *options = &report->options;
    const bool hours = report->level_s == BUCKET_HOUR;

    if (report_gap_share(report) > 0.005)
        fprintf(out, " Of %.1f %% of that time nothing is kept: it is in none of these figures.",
                100 * report_gap_share(report));
    if (!options->capacity_bytes)
        return;
    if (options->guest_bytes && hours)
        fputs(
            " Minutes are not kept of all that time: fewer fit of guests that are busy in the same "
            "minutes as the others.",
            out);
    if ((double)report->n_times * options->risk < 1)
        fprintf(out, " That is from %zu %s%s: too few to know what happens for %g %% of the time.",
                report->n_times, hours ? "hour" : "minute", plural((double)report->n_times),
                100 * options->risk);
}

static void needs(FILE *out, const struct report *report)
{
    const struct report_options *options = &report->options;
    char capacity[32];
    char needed[32];
    char size[32];

    if (!options->capacity_bytes)
        return;
    fprintf(out,
            "Of %s all guests together need %s or less for %g %% of the time; it does not "
            "suffice for %.3g %%.",
            show_bytes(capacity, sizeof(capacity), options->capacity_bytes),
            show_bytes(needed, sizeof(needed), (uint64_t)report->total_risk),
            100 * (1 - options->risk), 100 * report->shortage);
    if (options->guest_bytes)
        fprintf(out, " %.0f more guest%s of %s like these would fit at a risk of %g %%.",
                report->fit, plural(report->fit),
                show_bytes(size, sizeof(size), options->guest_bytes), 100 * options->risk);
}

/* The sentences of the table for people (show/report.c). */
static void verdict(FILE *out, const struct report *report)
{
    fputs("<p>", out);
    needs(out, report);
    doubts(out, report);
    fputs("</p>\n", out);
}

static void add_known(double *sum, double value)
{
    if (isfinite(value))
        *sum = (isfinite(*sum) ? *sum : 0) + value;
}

/* Sums over guests; a guest without a working set counts with all that is resident. */
static void sum_cell(const struct html_report *page, size_t i, struct timeline_cell *sum)
{
    const double capacity = (double)page->report->options.capacity_bytes;

    *sum = (struct timeline_cell){.ram = NAN,
                                  .resident = NAN,
                                  .wss = NAN,
                                  .low = NAN,
                                  .high = NAN,
                                  .has = capacity > 0 ? capacity : NAN};
    for (size_t g = 0; g < page->report->n_guests; g++) {
        const struct timeline_cell *cell = &page->cells[g * page->span->n_cells + i];

        if (!cell->recorded)
            continue;
        sum->recorded = true;
        add_known(&sum->ram, cell->ram);
        add_known(&sum->resident, cell->resident);
        add_known(&sum->wss, isfinite(cell->wss) ? cell->wss : cell->resident);
    }
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
                                     .n = sizeof(host_series) / sizeof(host_series[0]),
                                     .series = host_series};

    if (!sums)
        return -ENOMEM;
    for (size_t i = 0; i < page->span->n_cells; i++)
        sum_cell(page, i, &sums[i]);
    fprintf(out,
            "<section class=\"card\" aria-label=\"The host\" data-begin=\"%.0f\" "
            "data-cell=\"%.0f\" data-name=\"",
            page->span->begin_s, page->span->cell_s);
    html_text(out, page->report->host);
    fputs("\">\n", out);
    bars(out, page->report);
    verdict(out, page->report);
    html_chart(out, page->span, sums, &chart);
    fputs(
        "<p class=\"note\">Sums over the guests that have a record of the time; one that cannot be "
        "measured counts with all that is resident.</p></section>\n",
        out);
    free(sums);
    return 0;
}

/* --- the page --------------------------------------------------------------------------------- */

static int write_page(FILE *out, const struct html_report *page)
{
    int rc;

    head(out, page);
    heading(out, page);
    rc = host(out, page);
    if (rc < 0)
        return rc;
    html_guests_table(out, page);
    html_guests(out, page);
    fputs("</main>\n<footer><p>Made by vmwss " VMWSS_VERSION " at ", out);
    time_element(out, page->now_s);
    fputs(
        ". See <cite>vmwss-report</cite>(1) for what the figures mean.</p></footer>\n</body></html>\n",
        out);
    return 0;
}

int html_report_write(const struct html_report *page, const char *path, struct error *error)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    int rc = out ? write_page(out, page) : -ENOMEM;

    if (out && fclose(out) != 0)
        rc = -ENOMEM;
    rc = rc < 0 ? error_set(error, rc, "out of memory for the page")
                : html_file_write(path, text, size, error);
    free(text);
    return rc;
}
