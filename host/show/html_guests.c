// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/html_guests.h"

#include "base/array.h"
#include "base/text/units.h"
#include "show/html.h"
#include "show/html_chart.h"
#include "show/html_table.h"

#include <math.h>

/* --- the table -------------------------------------------------------------------------------- */

static const struct html_column columns[] = {
    {"guest", "Guest", false},         {"state", "State", false},
    {"assigned", "Assigned", true},    {"resident", "Resident", true},
    {"p50", "WSS p50", true},          {"wss", "WSS p95", true},
    {"max", "WSS max", true},          {"share", "P95 of assigned", true},
    {"give", "Could give back", true}, {"flags", "Last flags", false},
};

static void share_cell(FILE *out, const struct report_guest *guest)
{
    double share = guest->ram_bytes ? guest->wss_p95 / (double)guest->ram_bytes : 0;

    if (guest->records == 0) {
        html_cell_bytes(out, false, 0);
        return;
    }
    fprintf(
        out,
        "<td data-v=\"%.4f\"><svg class=\"bar small\" viewBox=\"0 0 100 10\" "
        "preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"assigned\" width=\"100\" "
        "height=\"10\"/><rect class=\"wss\" width=\"%.0f\" height=\"10\"/></svg> %.0f %%</td>",
        share, 100 * fmin(share, 1), 100 * share);
}

static const char *state_of(const struct report_guest *guest)
{
    if (!guest->running)
        return "ended";
    return guest->not_measured ? "not measured" : "running";
}

static unsigned last_flags(const struct html_report *page, size_t g)
{
    const struct timeline_cell *cells = &page->cells[g * page->span->n_cells];

    for (size_t i = page->span->n_cells; i > 0; i--)
        if (cells[i - 1].recorded)
            return cells[i - 1].flags;
    return 0;
}

static void flags(FILE *out, unsigned set)
{
    const char *name;

    for (unsigned f = 0; (name = sample_flag_name(f)); f++)
        if (set & (1U << f))
            fprintf(out, "<span class=\"chip\">%s</span> ", name);
}

static void table_row(FILE *out, const struct html_report *page, size_t g)
{
    const struct report_guest *guest = &page->report->guests[g];
    const bool known = guest->records > 0;

    fprintf(out, "<tr data-for=\"g%zu\"><th scope=\"row\"><a href=\"#g%zu\">", g, g);
    html_name(out, "", guest->guest.name, "</a></th>");
    fprintf(out, "<td>%s</td>", state_of(guest));
    html_cell_bytes(out, true, (double)guest->ram_bytes);
    html_cell_bytes(out, true, (double)guest->resident_bytes);
    html_cell_bytes(out, known, guest->wss_p50);
    html_cell_bytes(out, known, guest->wss_p95);
    html_cell_bytes(out, known, guest->wss_max);
    share_cell(out, guest);
    html_cell_bytes(out, known && !guest->not_measured, (double)guest->reclaimable_bytes);
    fputs("<td>", out);
    flags(out, last_flags(page, g));
    fputs("</td></tr>\n", out);
}

void html_guests_table(FILE *out, const struct html_report *page)
{
    const struct html_table table = {.id = "guests",
                                     .prefix = "",
                                     .noun = "guest",
                                     .title = "Guests",
                                     .note = "",
                                     .columns = columns,
                                     .n_columns = COUNT(columns),
                                     .n_rows = page->report->n_guests};

    html_table_begin(out, &table);
    for (size_t g = 0; g < page->report->n_guests; g++)
        table_row(out, page, g);
    html_table_end(out);
}

/* --- each guest ------------------------------------------------------------------------------- */

#define CELL(member) offsetof(struct timeline_cell, member)

static const struct html_series memory_series[] = {
    {"assigned", "assigned", CELL(ram)},
    {"has", "balloon leaves, as it reports", CELL(has)},
    {"resident", "resident", CELL(resident)},
    {"used", "used, as it reports", CELL(used)},
    {"peak", "largest working set", CELL(wss_max)},
    {"written", "written within it, at least", CELL(written)},
    {"wss", "working set", CELL(wss)},
};
static const struct html_series pressure_series[] = {
    {"some", "some tasks wait", CELL(psi_some)},
    {"full", "all tasks wait", CELL(psi_full)},
};
static const struct html_series refault_series[] = {
    {"some", "refaults", CELL(refault)},
    {"full", "swapped in", CELL(swap_in)},
};

static void facts(FILE *out, const struct report_guest *guest)
{
    fprintf(out, "<p>%s; %s assigned, %s resident", state_of(guest), BYTES_TEXT(guest->ram_bytes),
            BYTES_TEXT(guest->resident_bytes));
    if (guest->records > 0)
        fprintf(out, "; working set %s (p50), %s (p95), %s at most",
                BYTES_TEXT((uint64_t)guest->wss_p50), BYTES_TEXT((uint64_t)guest->wss_p95),
                BYTES_TEXT((uint64_t)guest->wss_max));
    if (!guest->not_measured && guest->reclaimable_bytes > 0)
        fprintf(out, "; could give back %s", BYTES_TEXT(guest->reclaimable_bytes));
    fputs(".</p>\n", out);
}

static void side_by_side(FILE *out, const struct html_report *page,
                         const struct timeline_cell *cells, const char *name)
{
    const struct html_chart charts[] = {
        {.title = "Waiting for memory (PSI), as it reports",
         .name = name,
         .unit = HTML_SHARE,
         .n = COUNT(pressure_series),
         .series = pressure_series},
        {.title = "Refaults and swap, as it reports",
         .name = name,
         .unit = HTML_BYTES_PER_SECOND,
         .n = COUNT(refault_series),
         .series = refault_series},
    };

    fputs("<div class=\"pair\">", out);
    for (size_t c = 0; c < COUNT(charts); c++)
        if (html_chart_has_any(page->span, cells, &charts[c]))
            html_chart(out, page->span, cells, &charts[c]);
    fputs("</div>\n", out);
}

static void guest_article(FILE *out, const struct html_report *page, size_t g)
{
    const struct report_guest *guest = &page->report->guests[g];
    const struct timeline_cell *cells = &page->cells[g * page->span->n_cells];
    const char *name = guest->guest.name;
    const struct html_chart memory = {.title = "Memory",
                                      .name = name,
                                      .band = guest->records > 0,
                                      .n = COUNT(memory_series),
                                      .series = memory_series};

    fprintf(out,
            "<article class=\"card\" id=\"g%zu\" data-begin=\"%.0f\" data-cell=\"%.0f\"><h3><bdi>",
            g, page->span->begin_s, page->span->cell_s);
    html_text(out, name);
    fputs("</bdi> <small>", out);
    html_text(out, guest->guest.uuid);
    fputs("</small></h3>\n", out);
    facts(out, guest);
    html_chart(out, page->span, cells, &memory);
    if (guest->records > 0)
        html_heat(out, page->span, cells, name);
    html_strips(out, page->span, cells, name);
    side_by_side(out, page, cells, name);
    fputs("</article>\n", out);
}

void html_guests(FILE *out, const struct html_report *page)
{
    fputs("<section id=\"each\" aria-label=\"Each guest over time\"><h2>Each guest</h2>\n", out);
    for (size_t g = 0; g < page->report->n_guests; g++)
        guest_article(out, page, g);
    fputs("</section>\n", out);
}
