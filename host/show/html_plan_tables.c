// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/html_plan_tables.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text/units.h"
#include "show/html.h"
#include "show/html_table.h"
#include "show/plan_words.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* --- cells ------------------------------------------------------------------------------------ */

static void count_cell(FILE *out, size_t n)
{
    fprintf(out, "<td data-v=\"%zu\">%zu</td>", n, n);
}

static void signed_cell(FILE *out, double bytes)
{
    char text[40];

    snprintf(text, sizeof(text), "%s%s", bytes < 0 ? "-" : "", BYTES_TEXT((uint64_t)fabs(bytes)));
    html_cell_number(out, trunc(bytes), text);
}

/* Draws a bar from @p from to @p to, and a mark, as shares of its width 0 .. 1; parts outside are
 * not drawn. */
static void small_bar(FILE *out, const char *style, double from, double to, double mark)
{
    fprintf(out,
            "<svg class=\"bar small\" aria-hidden=\"true\"><rect class=\"%s\" x=\"%.0f%%\" "
            "width=\"%.0f%%\" height=\"9\"/><rect class=\"mark\" x=\"%.0f%%\" width=\"2\" "
            "height=\"9\"/></svg> ",
            style, 100 * from, 100 * (fmin(to, 1) - from), 97 * fmin(mark, 1));
}

static void share_cell(FILE *out, double share, const char *style, double mark)
{
    fprintf(out, "<td data-v=\"%.4f\">", share);
    small_bar(out, style, 0, share, mark);
    fprintf(out, "%.0f %%</td>", 100 * share);
}

/* --- hosts ------------------------------------------------------------------------------------ */

static const struct html_column host_columns[] = {
    {"host", "Host", false},          {"note", "Note", false},
    {"guests", "Guests", true},       {"assigned", "Assigned", true},
    {"limit", "Limit", true},         {"p50", "Need p50", true},
    {"p99", "Need p99", true},        {"planned", "Planned", true},
    {"share", "Of limit", true},      {"headroom", "Headroom", true},
    {"short", "Short", true},         {"longest", "Longest", true},
    {"swap", "Swap if all", true},    {"fails", "If it fails", true},
    {"full", "85 % in", true},        {"after", "Guests after", true},
    {"later", "Planned after", true}, {"fails-after", "If it fails, after", true}};
#define N_AFTER 3 /* number of last columns that describe the state after the moves */

/* Returns the position of a number of days on a scale from one day to ten years, 0 .. 1. */
static double days_at(double days)
{
    return log10(fmin(fmax(days, 1), PLAN_NEVER_DAYS)) / log10(PLAN_NEVER_DAYS);
}

/* Shows the interval and the most likely value. "Never" sorts after all days, and unknown after
 * "never". */
static void runway_cell(FILE *out, const struct plan_runway *runway)
{
    char text[100];

    fprintf(out, "<td data-v=\"%.1f\">", runway->known ? fmin(runway->days, 1e6) : 1e7);
    if (runway->known && runway->low_days <= PLAN_NEVER_DAYS)
        small_bar(out, "some", days_at(runway->low_days), days_at(runway->high_days) + 0.01,
                  days_at(runway->days));
    fprintf(out, "%s</td>", plan_runway_text(text, sizeof(text), runway));
}

static void fails_cell(FILE *out, const struct plan_host_result *host, bool after)
{
    const struct plan_fallen *fails = after ? &host->fails_after : &host->fails;
    const size_t n_guests = after ? host->n_guests_after : host->n_guests;
    const bool any = (n_guests > 0 || fails->past) && !host->partial;
    char text[60];

    html_cell_number(out, any ? (double)(fails->guests + fails->past) : -1,
                     plan_unplaced_text(text, sizeof(text), host, after));
}

static void short_cells(FILE *out, const struct plan_need *need)
{
    const double minutes = round(plan_month_minutes(need->short_share));
    char text[40];

    snprintf(text, sizeof(text), "%.0fm/month", minutes);
    html_cell_number(out, minutes, text);
    html_cell_number(out, need->longest_s, show_seconds(text, sizeof(text), need->longest_s));
}

static void after_cells(FILE *out, const struct plan_host_result *host)
{
    if (host->emptied)
        fputs("<td data-v=\"0\"><span class=\"chip\">emptied</span></td>", out);
    else
        count_cell(out, host->n_guests_after);
    html_cell_bytes(out, true, host->planned_after_bytes);
    fails_cell(out, host, true);
}

static void host_row(FILE *out, const struct plan_shown *shown, size_t h)
{
    const struct plan_host *host = &shown->fleet->hosts[h];
    const struct plan_host_result *result = &shown->result->hosts[h];
    const double limit = fmax(result->limit_bytes, 1);
    const double share = result->planned_bytes / limit;
    const char *note = plan_host_note(host, result);

    html_name(out, "<tr><th scope=\"row\">", host->name, "</th>");
    fprintf(out, note[0] ? "<td><span class=\"chip\">%s</span></td>" : "<td>%s</td>", note);
    count_cell(out, result->n_guests);
    html_cell_bytes(out, true, result->ram_bytes);
    html_cell_bytes(out, true, result->limit_bytes);
    html_cell_bytes(out, true, trunc(result->need.p50_bytes));
    html_cell_bytes(out, true, trunc(result->need.p99_bytes));
    html_cell_bytes(out, true, trunc(result->planned_bytes));
    share_cell(out, share,
               share > 1           ? "full"
               : share > PLAN_FULL ? "some"
                                   : "wss",
               result->need.p99_bytes / limit);
    signed_cell(out, result->limit_bytes - result->planned_bytes);
    short_cells(out, &result->need);
    html_cell_bytes(out, true, result->swap_bytes);
    fails_cell(out, result, false);
    runway_cell(out, &result->runway);
    if (plan_has_moves(shown->request))
        after_cells(out, result);
    fputs("</tr>\n", out);
}

void html_plan_hosts(FILE *out, const struct plan_shown *shown)
{
    const struct html_table table = {
        .id = "hosts",
        .prefix = "",
        .noun = "host",
        .title = "Hosts",
        .note = "Of limit: what is planned as a share of capacity less reserve; the mark is the "
                "need's p99. 85 % in: from one day to ten years, logarithmic; the 95 % interval, "
                "and the mark in it.",
        .columns = host_columns,
        .n_columns = COUNT(host_columns) - (plan_has_moves(shown->request) ? 0 : N_AFTER),
        .n_rows = shown->fleet->n_hosts};

    html_table_begin(out, &table);
    for (size_t h = 0; h < shown->fleet->n_hosts; h++)
        host_row(out, shown, h);
    html_table_end(out);
}

/* --- moves ------------------------------------------------------------------------------------ */

static void one_move(FILE *out, const struct plan_fleet *fleet, const struct plan_move *move)
{
    const struct plan_price *price = plan_price_of(fleet, move->guest);
    char takes[100];
    char hour[20];

    html_name(out, "<li>", fleet->guests[move->guest].name, " to ");
    html_name(out, "", fleet->hosts[move->to].name, "");
    if (price)
        fprintf(out, ", %s, %s%s", plan_takes_text(takes, sizeof(takes), price),
                plan_hour_text(hour, sizeof(hour), price->hour),
                price->hour == PLAN_ANY_HOUR ? " hour" : " UTC");
    fputs("</li>", out);
}

/* Writes the moves that begin at @p first and have the same host and reason; returns the index of
 * the next move.
 */
static size_t moves_row(FILE *out, const struct plan_shown *shown, size_t first, size_t end)
{
    const struct plan_move *moves = shown->result->moves.move;
    size_t last = first;

    while (last < end && moves[last].from == moves[first].from &&
           moves[last].why == moves[first].why)
        last++;
    html_name(out, "<tr><th scope=\"row\">", shown->fleet->hosts[moves[first].from].name, "</th>");
    fprintf(out, "<td>%s it</td><td class=\"n\">%zu</td><td><ul class=\"moves\">",
            plan_why_texts[moves[first].why].gain, last - first);
    for (size_t m = first; m < last; m++)
        one_move(out, shown->fleet, &moves[m]);
    fputs("</ul></td></tr>\n", out);
    return last;
}

void html_plan_moves(FILE *out, const struct plan_shown *shown)
{
    const size_t n = shown->result->moves.n;
    const size_t end = n < HTML_PLAN_MOVES ? n : HTML_PLAN_MOVES;

    if (!plan_has_moves(shown->request) || n == 0)
        return;
    fputs("<section class=\"card\" id=\"moves\" aria-label=\"Moves\">\n", out);
    if (end < n)
        fprintf(out, "<p class=\"note\">The first %zu of %zu moves: --csv has all.</p>\n", end, n);
    fputs(
        "<div class=\"scroll\" role=\"region\" aria-label=\"Table of moves\" tabindex=\"0\"><table>"
        "<caption>Moves, in this order</caption><thead><tr><th scope=\"col\">From</th><th "
        "scope=\"col\">Which</th><th scope=\"col\" class=\"n\">Guests</th><th scope=\"col\">Move"
        "</th></tr></thead>\n<tbody>\n",
        out);
    for (size_t m = 0; m < end;)
        m = moves_row(out, shown, m, end);
    fputs("</tbody></table></div></section>\n", out);
}

/* --- guests ----------------------------------------------------------------------------------- */

static const struct html_column guest_columns[] = {
    {"guest", "Guest", false},  {"host", "Host", false},      {"assigned", "Assigned", true},
    {"p50", "Need p50", true},  {"p95", "P95", true},         {"p99", "P99", true},
    {"max", "Max", true},       {"size", "Right size", true}, {"share", "P99 of assigned", true},
    {"change", "Change", true}, {"days", "History", true},    {"note", "Note", false},
};

struct sized {
    size_t guest;
    double change; /* bytes, absolute value; below 0: the right size is not known */
};

static int by_change(const void *a, const void *b)
{
    const struct sized *x = a;
    const struct sized *y = b;

    if (x->change != y->change)
        return x->change < y->change ? 1 : -1;
    return (x->guest > y->guest) - (x->guest < y->guest);
}

static void guest_row(FILE *out, const struct plan_fleet *fleet, const struct plan_guest *guest)
{
    const double ram = (double)guest->ram_bytes;
    const double size = trunc(guest->right_size_bytes);
    char text[100];

    html_name(out, "<tr><th scope=\"row\">", guest->name, "</th>");
    html_name(out, "<td>", fleet->hosts[guest->host].name, "</td>");
    html_cell_bytes(out, true, ram);
    html_cell_bytes(out, true, trunc(guest->p50_bytes));
    html_cell_bytes(out, true, trunc(guest->p95_bytes));
    html_cell_bytes(out, true, trunc(guest->p99_bytes));
    html_cell_bytes(out, true, trunc(guest->max_bytes));
    html_cell_bytes(out, size > 0, size);
    share_cell(out, guest->p99_bytes / ram, "wss", size / ram);
    if (size > 0)
        signed_cell(out, size - ram);
    else
        html_cell_bytes(out, false, 0);
    fprintf(out, "<td data-v=\"%.2f\">%.1fd</td><td>%s</td></tr>\n", guest->days, guest->days,
            plan_guest_note(text, sizeof(text), guest));
}

int html_plan_guests(FILE *out, const struct plan_shown *shown)
{
    const struct plan_fleet *fleet = shown->fleet;
    const size_t n = fleet->n_guests < HTML_PLAN_GUESTS ? fleet->n_guests : HTML_PLAN_GUESTS;
    cleanup_free struct sized *sized = calloc(fleet->n_guests + 1, sizeof(*sized));
    char note[300] = "In the bars: the need's p99 as a share of what is assigned; the mark is the "
                     "right size.";
    struct html_table table = {.id = "guests",
                               .prefix = "guest-",
                               .noun = "guest",
                               .title = "Guests",
                               .note = note,
                               .columns = guest_columns,
                               .n_columns = COUNT(guest_columns),
                               .n_rows = n};

    if (!sized)
        return -ENOMEM;
    for (size_t g = 0; g < fleet->n_guests; g++) {
        const double size = fleet->guests[g].right_size_bytes;

        sized[g] = (struct sized){g,
                                  size > 0 ? fabs(size - (double)fleet->guests[g].ram_bytes) : -1};
    }
    if (n < fleet->n_guests) {
        qsort(sized, fleet->n_guests, sizeof(*sized), by_change);
        snprintf(note, sizeof(note),
                 "The %zu of %zu guests whose size would change the most: --csv has all. In the "
                 "bars: the need's p99 as a share of what is assigned; the mark is the right size.",
                 n, fleet->n_guests);
    }
    html_table_begin(out, &table);
    for (size_t i = 0; i < n; i++)
        guest_row(out, fleet, &fleet->guests[sized[i].guest]);
    html_table_end(out);
    return 0;
}
