// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file html_plan.c  See html_plan.h: the page, and the charts of the fleet. */
#include "show/html_plan.h"

#include "base/array.h"
#include "base/plural.h"
#include "base/text/units.h"
#include "show/html.h"
#include "show/html_page.h"
#include "show/html_plan_tables.h"
#include "show/plan_words.h"

#include <math.h>

static void print_heading(FILE *out, const struct plan_shown *shown)
{
    const struct plan_fleet *fleet = shown->fleet;

    fprintf(out,
            "<body>\n<a class=\"skip\" href=\"#hosts-table\">To the table of hosts</a>\n<header>"
            "<h1>Memory of %zu host%s</h1>\n<p>What %zu guest%s needed together, from ",
            fleet->n_hosts, plural((double)fleet->n_hosts), fleet->n_guests,
            plural((double)fleet->n_guests));
    html_time(out, fleet->from_s);
    fputs(" to ", out);
    html_time(out, fleet->from_s + (double)fleet->n_times * fleet->step_s);
    fprintf(out,
            ", and what is planned so that no host is short for more than %g %% of the time. A "
            "need is the upper bound of the memory touched within %s; it is added up in steps of "
            "%s. All times are UTC.</p></header>\n<main>\n",
            100 * shown->request->options.risk, SECONDS_SHORT_TEXT(shown->window_s),
            SECONDS_SHORT_TEXT(fleet->step_s));
}

/* --- all hosts together ----------------------------------------------------------------------- */

struct sums {
    double limit, assigned, p50, p99, planned, headroom, shortage, swap;
};

static struct sums sums_of(const struct plan_shown *shown)
{
    struct sums sums = {0};

    for (size_t h = 0; h < shown->fleet->n_hosts; h++) {
        const struct plan_host_result *host = &shown->result->hosts[h];

        sums.limit += host->limit_bytes;
        sums.assigned += host->ram_bytes;
        sums.p50 += host->need.p50_bytes;
        sums.p99 += host->need.p99_bytes;
        sums.planned += host->planned_bytes;
        sums.headroom += fmax(host->limit_bytes - host->planned_bytes, 0);
        sums.shortage += fmax(host->planned_bytes - host->limit_bytes, 0);
        sums.swap += host->swap_bytes;
    }
    return sums;
}

static void memory_bars(FILE *out, const struct sums *sums)
{
    const struct html_bar bars[] = {
        {"capacity", "Limit", "capacity less reserve", sums->limit, NULL},
        {"assigned", "Assigned", "to the guests", sums->assigned, NULL},
        {"wss", "Needed, p50", "of each host, added up", sums->p50, NULL},
        {"wss", "Needed, p99", "of each host, added up", sums->p99, NULL},
        {"peak", "Planned", "for all but the risk, with the margins for what is to come",
         sums->planned, NULL},
        {"give", "Headroom", "of the hosts that have some", sums->headroom, NULL},
        {"full", "Missing", "on the hosts that are short", sums->shortage, NULL},
        {"some", "Worst case", "to be swapped if every guest touches all it has", sums->swap, NULL},
    };
    const struct html_bars table = {"All hosts together", "Memory", bars, COUNT(bars)};

    html_bars(out, &table);
}

/* Draws the present ratio and the possible ratio. */
static void ratio_bars(FILE *out, const struct plan_shown *shown, const struct sums *sums)
{
    const struct plan_ratio *ratio = &shown->result->ratio;
    const double now = sums->limit > 0 ? sums->assigned / sums->limit : 0;
    char text[2][40];
    const struct html_bar bars[] = {
        {"assigned", "Now", "assigned to the limit, of all hosts", now, text[0]},
        {"give", "At the risk", "could be, with guests like these", ratio->ratio, text[1]},
    };
    const struct html_bars table = {"Overcommit ratio", "Ratio", bars, COUNT(bars)};

    if (ratio->ratio <= 0)
        return;
    snprintf(text[0], sizeof(text[0]), "%.2f", now);
    snprintf(text[1], sizeof(text[1]), "%s%.2f", ratio->at_least ? "at least " : "", ratio->ratio);
    html_bars(out, &table);
}

/* --- histograms of hosts and guests ----------------------------------------------------------- */

struct bin {
    const char *style, *name, *note;
    /* upper limit of the bin; the lower limit is the upper limit of the previous bin */
    double below;
    size_t n;
};

static void put_in_bin(struct bin *bins, size_t n_bins, double value)
{
    size_t b = 0;

    while (b + 1 < n_bins && value > bins[b].below)
        b++;
    bins[b].n++;
}

#define BINS_MAX 10
static void draw_bins(FILE *out, const struct bin *bins, size_t n, const char *caption,
                      const char *what)
{
    struct html_bar bars[BINS_MAX];
    char text[BINS_MAX][24];
    const struct html_bars table = {caption, what, bars, n};

    for (size_t b = 0; b < n; b++) {
        snprintf(text[b], sizeof(text[b]), "%zu", bins[b].n);
        bars[b] = (struct html_bar){bins[b].style, bins[b].name, bins[b].note, (double)bins[b].n,
                                    text[b]};
    }
    html_bars(out, &table);
}

static void use_bins(FILE *out, const struct plan_shown *shown)
{
    struct bin bins[] = {
        {"assigned", "Now", "have guests", 0, 0},
        {"give", "After the moves", "have guests", 0, 0},
    };

    if (!plan_has_moves(shown->request))
        return;
    for (size_t h = 0; h < shown->fleet->n_hosts; h++)
        bins[0].n += shown->result->hosts[h].n_guests > 0;
    bins[1].n = bins[0].n - shown->result->emptied;
    draw_bins(out, bins, COUNT(bins), "Hosts in use", "Hosts");
}

static void full_bins(FILE *out, const struct plan_shown *shown)
{
    struct bin bins[] = {
        {"wss", "Up to 25 %", "planned, of the limit", 0.25, 0},
        {"wss", "25 to 50 %", "", 0.5, 0},
        {"wss", "50 to 70 %", "", 0.7, 0},
        {"wss", "70 to 85 %", "", PLAN_FULL, 0},
        {"some", "85 to 100 %", "full", 1, 0},
        {"full", "Over 100 %", "short", HUGE_VAL, 0},
    };

    for (size_t h = 0; h < shown->fleet->n_hosts; h++) {
        const struct plan_host_result *host = &shown->result->hosts[h];

        put_in_bin(bins, COUNT(bins), host->planned_bytes / fmax(host->limit_bytes, 1));
    }
    draw_bins(out, bins, COUNT(bins), "Hosts, by how full they are planned", "Hosts");
}

static void runway_bins(FILE *out, const struct plan_shown *shown)
{
    struct bin bins[] = {
        {"full", "Now", "the p99 of the last days is at 85 % of the limit", 0, 0},
        {"full", "In 14 days", "as its trend goes", 14, 0},
        {"some", "In 30 days", "", 30, 0},
        {"some", "In 90 days", "", 90, 0},
        {"wss", "In a year", "", 365, 0},
        {"give", "Later, or never", "", 1e300, 0},
        {"assigned", "Not known", "the history is too short", HUGE_VAL, 0},
    };

    for (size_t h = 0; h < shown->fleet->n_hosts; h++) {
        const struct plan_runway *runway = &shown->result->hosts[h].runway;

        put_in_bin(bins, COUNT(bins), runway->known ? fmin(runway->days, 1e300) : HUGE_VAL);
    }
    draw_bins(out, bins, COUNT(bins), "Hosts, by when they reach 85 % of their limit", "Hosts");
}

static void fail_bins(FILE *out, const struct plan_shown *shown)
{
    struct bin bins[] = {
        {"assigned", "Empty", "no guests", 0, 0},
        {"give", "Others take it", "each of its guests has a place on another", 1, 0},
        {"full", "Some stay down", "not all of its guests have a place", 2, 0},
        {"assigned", "Not known", "the host is partly known", 3, 0},
    };

    for (size_t h = 0; h < shown->fleet->n_hosts; h++) {
        const struct plan_host_result *host = &shown->result->hosts[h];

        put_in_bin(bins, COUNT(bins),
                   host->n_guests == 0 && !host->fails.past       ? 0
                   : host->partial                                ? 3
                   : host->fails.guests == 0 && !host->fails.past ? 1
                                                                  : 2);
    }
    draw_bins(out, bins, COUNT(bins), "If one host fails (N+1)", "Hosts");
}

static void size_bins(FILE *out, const struct plan_fleet *fleet)
{
    struct bin bins[] = {
        {"give", "Up to half", "right size, of what is assigned", 0.5, 0},
        {"give", "50 to 90 %", "could be smaller", 0.9, 0},
        {"wss", "90 to 110 %", "about right", 1.1, 0},
        {"full", "Over 110 %", "should be larger", 1e300, 0},
        {"assigned", "Not known", "", HUGE_VAL, 0},
    };

    for (size_t g = 0; g < fleet->n_guests; g++) {
        const double size = fleet->guests[g].right_size_bytes;

        put_in_bin(bins, COUNT(bins),
                   size > 0 ? size / (double)fleet->guests[g].ram_bytes : HUGE_VAL);
    }
    draw_bins(out, bins, COUNT(bins), "Guests, by their right size", "Guests");
}

/* --- words ------------------------------------------------------------------------------------ */

static void write_name(FILE *out, const char *name)
{
    html_name(out, "", name, "");
}

static void sentences(FILE *out, const struct html_plan *page)
{
    const struct plan_voice voice = {out, write_name, "<p>", "</p>\n"};

    plan_say_moves(&voice, page->shown);
    plan_say_places(&voice, page->shown);
    plan_say_ratio(&voice, page->shown);
}

/* Writes what limits the accuracy of the figures. */
static void doubts(FILE *out, const struct html_plan *page)
{
    const struct plan_voice voice = {out, write_name, "<p class=\"doubt\">", "</p>\n"};

    plan_say_doubts(&voice, page->shown);
    for (size_t w = 0; w < page->n_warnings; w++) {
        fputs("<p class=\"doubt\">", out);
        html_text(out, page->warnings[w]);
        fputs("</p>\n", out);
    }
}

/* --- the page --------------------------------------------------------------------------------- */

static void fleet_section(FILE *out, const struct html_plan *page)
{
    const struct plan_shown *shown = page->shown;
    const struct sums sums = sums_of(shown);

    fputs("<section class=\"card\" id=\"fleet\" aria-label=\"The fleet\">\n", out);
    doubts(out, page);
    memory_bars(out, &sums);
    sentences(out, page);
    fputs("<div class=\"some-bars\">", out);
    ratio_bars(out, shown, &sums);
    use_bins(out, shown);
    full_bins(out, shown);
    runway_bins(out, shown);
    fail_bins(out, shown);
    size_bins(out, shown->fleet);
    fputs("</div></section>\n", out);
}

static int draw_page(FILE *out, const void *context)
{
    const struct html_plan *page = context;
    const struct plan_shown *shown = page->shown;
    char title[40];
    int rc;

    snprintf(title, sizeof(title), "plan of %zu host%s", shown->fleet->n_hosts,
             plural((double)shown->fleet->n_hosts));
    html_page_begin(out, title, page->now_s);
    print_heading(out, shown);
    fleet_section(out, page);
    html_plan_hosts(out, shown);
    html_plan_moves(out, shown);
    rc = html_plan_guests(out, shown);
    if (rc == 0)
        html_page_end(out, "vmwss-plan", page->now_s);
    return rc;
}

int html_plan_write(const struct html_plan *page, const char *path, struct error *error)
{
    return html_page_write(path, draw_page, page, error);
}
