// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/guest_view.h"

#include "base/array.h"
#include "base/text/units.h"
#include "base/utf8.h"
#include "show/guest_stats.h"
#include "show/note.h"
#include "show/sample_table.h"
#include "show/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- memory ----------------------------------------------------------------------------------- */

static void memory_row(struct table *table, const char *whose, const char *what, uint64_t bytes,
                       uint64_t of_bytes)
{
    char text[32], share[32] = "";

    if (bytes == AGENT_UNKNOWN)
        return;
    if (of_bytes)
        snprintf(share, sizeof(share), "%.1f%%", 100 * (double)bytes / (double)of_bytes);
    show_bytes(text, sizeof(text), bytes);
    table_row(table, (const char *const[]){whose, what, text, share});
}

static uint64_t less(uint64_t whole, uint64_t part)
{
    return whole == AGENT_UNKNOWN || part == AGENT_UNKNOWN || part > whole ? AGENT_UNKNOWN
                                                                           : whole - part;
}

/* Adds vmwssd's measurements, with their errors. */
static void add_windows(struct table *table, const struct guest_view *view)
{
    const struct sample_record *record = view->record;

    for (size_t w = 0; record && w < record->n_windows; w++) {
        const struct window_record *window = &record->windows[w];
        char what[96];

        snprintf(what, sizeof(what), "touched in %s, %s %s, %s ago", SECONDS_TEXT(window->window_s),
                 show_plus_minus(), BYTES_TEXT(window_half_width(window)),
                 SECONDS_TEXT(ceil(view->record_age_s)));
        memory_row(table, "host", what, window->wss_bytes, view->assigned_bytes);
    }
}

static void add_host(struct table *table, const struct guest_view *view)
{
    uint64_t ram = view->assigned_bytes;

    memory_row(table, "host", "assigned", ram, ram);
    memory_row(table, "host", "left by the balloon", view->memory.current_bytes, ram);
    memory_row(table, "host", "resident", view->resident_bytes, ram);
    add_windows(table, view);
}

static void add_balloon(struct table *table, const struct guest_view *view)
{
    const struct domain_memory *m = &view->memory;
    uint64_t ram = view->assigned_bytes;

    memory_row(table, "balloon", "total", m->total_bytes, ram);
    memory_row(table, "balloon", "used", less(m->total_bytes, m->available_bytes), ram);
    memory_row(table, "balloon", "available", m->available_bytes, ram);
    memory_row(table, "balloon", "free", m->free_bytes, ram);
    memory_row(table, "balloon", "page cache", m->cache_bytes, ram);
}

/* Adds the working set that the agent found by clearing the guest's own referenced bits. */
static void add_working_set(struct table *table, const struct agent_working_set *own, uint64_t ram)
{
    char what[96], window[32], age[48] = "";

    if (isnan(own->window_s))
        return;
    if (own->age_s >= 1)
        snprintf(age, sizeof(age), ", %s ago", SECONDS_TEXT(own->age_s));
    show_seconds(window, sizeof(window), own->window_s);
    snprintf(what, sizeof(what), "touched in %s%s, anonymous", window, age);
    memory_row(table, "guest", what, own->anon_bytes, ram);
    snprintf(what, sizeof(what), "touched in %s%s, files", window, age);
    memory_row(table, "guest", what, own->file_bytes, ram);
}

static void add_agent(struct table *table, const struct guest_view *view)
{
    const struct agent_memory *m = &view->report->memory;
    uint64_t ram = view->assigned_bytes;

    memory_row(table, "guest", "total", m->total_bytes, ram);
    memory_row(table, "guest", "used", less(m->total_bytes, m->available_bytes), ram);
    memory_row(table, "guest", "available", m->available_bytes, ram);
    memory_row(table, "guest", "free", m->free_bytes, ram);
    memory_row(table, "guest", "anonymous", m->anon_bytes, ram);
    memory_row(table, "guest", "page cache, active", m->active_file_bytes, ram);
    memory_row(table, "guest", "page cache, inactive", m->inactive_file_bytes, ram);
    memory_row(table, "guest", "shared memory", m->shmem_bytes, ram);
    memory_row(table, "guest", "slab, reclaimable", m->slab_reclaimable_bytes, ram);
    memory_row(table, "guest", "slab, unreclaimable", m->slab_unreclaimable_bytes, ram);
    memory_row(table, "guest", "page tables", m->page_tables_bytes, ram);
    memory_row(table, "guest", "swapped", less(m->swap_total_bytes, m->swap_free_bytes), 0);
    add_working_set(table, &view->report->working_set, ram);
}

static void print_memory(const struct guest_view *view)
{
    static const struct table_column columns[] = {
        {.name = "WHOSE"},
        {.name = "WHAT"},
        {.name = "BYTES", .right = true},
        {.name = "OF ASSIGNED", .right = true},
    };
    struct table *table = table_new(columns, 4);

    if (!table)
        return;
    add_host(table, view);
    if (view->report)
        add_agent(table, view);
    else
        add_balloon(table, view);
    table_print(table, true);
    table_free(table);
}

/* Prints a table below others. */
static void end_table(struct table *table)
{
    note("\n");
    table_print(table, true);
    table_free(table);
}

/* --- pressure --------------------------------------------------------------------------------- */

static const char *percent(char text[UNITS_TEXT], double value)
{
    if (isfinite(value))
        snprintf(text, UNITS_TEXT, "%.2f%%", value);
    else
        snprintf(text, UNITS_TEXT, "-");
    return text;
}

static void pressure_row(struct table *table, const char *resource, const char *kind,
                         const struct agent_stalled *stalled)
{
    char total[32] = "-";

    if (isnan(stalled->avg10) && stalled->total_us == AGENT_UNKNOWN)
        return;
    if (stalled->total_us != AGENT_UNKNOWN)
        snprintf(total, sizeof(total), "%.2fs", (double)stalled->total_us / 1e6);
    table_row(table,
              (const char *const[]){"guest", resource, kind, percent(UNITS_BUFFER, stalled->avg10),
                                    percent(UNITS_BUFFER, stalled->avg60),
                                    percent(UNITS_BUFFER, stalled->avg300), total});
}

static void add_pressure(struct table *table, const char *resource,
                         const struct agent_pressure *pressure)
{
    pressure_row(table, resource, "some", &pressure->some);
    pressure_row(table, resource, "full", &pressure->full);
}

static void print_pressure(const struct agent_report *report)
{
    static const struct table_column columns[] = {
        {.name = "WHOSE"},
        {.name = "WAITS FOR"},
        {.name = "WHO"},
        {.name = "10S", .right = true},
        {.name = "60S", .right = true},
        {.name = "300S", .right = true},
        {.name = "SINCE BOOT", .right = true},
    };
    struct table *table = report->has_pressure ? table_new(columns, 7) : NULL;

    if (!report->has_pressure)
        note("\nguest: no pressure stall information%s%s\n", *report->pressure_off ? ": " : "",
             report->pressure_off);
    if (!table)
        return;
    add_pressure(table, "memory", &report->memory_pressure);
    add_pressure(table, "io", &report->io_pressure);
    add_pressure(table, "cpu", &report->cpu_pressure);
    end_table(table);
}

/* --- paging ----------------------------------------------------------------------------------- */

struct rate_row {
    const char *what;
    uint64_t now, before; /* pages or events; before is 0 for totals since boot */
    uint64_t unit_bytes;  /* 0: it counts events */
};

static void amount(char *text, size_t size, double value, uint64_t unit_bytes)
{
    if (unit_bytes)
        show_bytes(text, size, (uint64_t)fmin(value * (double)unit_bytes, 0x1p63));
    else
        snprintf(text, size, value < 10 ? "%.2f" : "%.0f", value);
}

static void rate_row(struct table *table, const struct rate_row *row, double seconds)
{
    char total[32], rate[32] = "-";

    if (row->now == AGENT_UNKNOWN)
        return;
    if (row->unit_bytes)
        amount(total, sizeof(total), (double)row->now, row->unit_bytes);
    else
        snprintf(total, sizeof(total), "%llu", (unsigned long long)row->now);
    if (seconds > 0 && row->before <= row->now)
        amount(rate, sizeof(rate), (double)(row->now - row->before) / seconds, row->unit_bytes);
    table_row(table, (const char *const[]){"guest", row->what, total, rate});
}

static uint64_t scanned(const struct agent_paging *paging)
{
    uint64_t kswapd = paging->scanned_kswapd_pages, direct = paging->scanned_direct_pages;

    return kswapd == AGENT_UNKNOWN || direct == AGENT_UNKNOWN ? AGENT_UNKNOWN : kswapd + direct;
}

static void add_rates(struct table *table, const struct agent_paging *p,
                      const struct agent_paging *b, uint64_t page, double seconds)
{
    const struct rate_row rows[] = {
        {"swapped in", p->swap_in_pages, b->swap_in_pages, page},
        {"swapped out", p->swap_out_pages, b->swap_out_pages, page},
        {"refaults, anonymous", p->refault_anon_pages, b->refault_anon_pages, page},
        {"refaults, page cache", p->refault_file_pages, b->refault_file_pages, page},
        {"scanned for reclaim", scanned(p), scanned(b), page},
        {"direct reclaims", p->direct_stalls, b->direct_stalls, 0},
        {"major faults", p->major_faults, b->major_faults, 0},
        {"killed for memory", p->oom_kills, b->oom_kills, 0},
    };

    for (size_t i = 0; i < COUNT(rows); i++)
        rate_row(table, &rows[i], seconds);
}

static void print_paging(const struct guest_view *view)
{
    static const struct agent_paging at_boot;
    const struct agent_report *now = view->report;
    bool over = view->before && now->uptime_s > view->before->uptime_s;
    double seconds = over ? now->uptime_s - view->before->uptime_s : now->uptime_s;
    uint64_t page = guest_report_page_bytes(view->hello);
    char heading[48] = "PER SECOND SINCE BOOT", span[32];

    if (over)
        snprintf(heading, sizeof(heading), "PER SECOND OVER %s",
                 show_seconds(span, sizeof(span), seconds));

    const struct table_column columns[] = {
        {.name = "WHOSE"},
        {.name = "PAGING"},
        {.name = "SINCE BOOT", .right = true},
        {.name = heading, .right = true},
    };
    struct table *table = table_new(columns, 4);

    if (!table)
        return;
    add_rates(table, &now->paging, over ? &view->before->paging : &at_boot, page, seconds);
    end_table(table);
}

/* --- processes -------------------------------------------------------------------------------- */

static void print_processes(const struct agent_top *top)
{
    static const struct table_column columns[] = {
        {.name = "WHOSE"},
        {.name = "PID", .right = true},
        {.name = "PSS", .right = true},
        {.name = "RSS", .right = true},
        {.name = "SWAPPED", .right = true},
        {.name = "REFERENCED", .right = true},
        {.name = "NAME", .last = true},
    };
    struct table *table = top->n ? table_new(columns, 7) : NULL;

    for (size_t i = 0; table && i < top->n; i++) {
        const struct agent_process *p = &top->process[i];
        char pid[24] = "-";

        if (p->pid != AGENT_UNKNOWN)
            snprintf(pid, sizeof(pid), "%llu", (unsigned long long)p->pid);
        table_row(table, (const char *const[]){"guest", pid, GUEST_STATS_BYTES(p->pss_bytes),
                                               GUEST_STATS_BYTES(p->rss_bytes),
                                               GUEST_STATS_BYTES(p->swap_bytes),
                                               GUEST_STATS_BYTES(p->referenced_bytes), p->name});
    }
    if (!table)
        return;
    end_table(table);
}

static void print_unseen(const struct agent_report *report)
{
    uint64_t unread = report->working_set.unread;

    if (report->processes_hidden)
        note("\nguest: its /proc hides processes from the agent (hidepid), so larger ones may be "
             "missing\n");
    if (unread != AGENT_UNKNOWN && unread > 0)
        note("\nguest: the agent cannot read all processes (%llu): what they touched is missing\n",
             (unsigned long long)unread);
}

/* --- all -------------------------------------------------------------------------------------- */

static void print_verdict(const struct guest_stats *stats)
{
    char reasons[128];

    if (stats->verdict == VERDICT_UNKNOWN)
        return;
    guest_stats_reasons_text(reasons, sizeof(reasons), stats->reasons);
    note("\nThe guest's working set is %s its memory%s%s%s.\n",
         guest_stats_verdict_name(stats->verdict), *reasons ? ": " : "", reasons,
         *reasons ? "" : ": it neither pages nor scans");
}

static void print_missing(const struct guest_view *view)
{
    char line[1024];

    snprintf(line, sizeof(line), "%s: no word from an agent: %s", view->domain, view->unavailable);
    utf8_end(line);
    utf8_printable(line);
    note("%s\n", line);
}

static void print_heading(const struct guest_view *view)
{
    char up[32] = "?";
    char domain[256];

    if (!view->report) {
        print_missing(view);
        return;
    }
    snprintf(domain, sizeof(domain), "%s", view->domain);
    utf8_printable(domain);
    if (isfinite(view->report->uptime_s))
        show_seconds(up, sizeof(up), view->report->uptime_s);
    note("%s: its agent is %s on Linux %s, up %s; lines of WHOSE guest are its word, not checked",
         domain, *view->hello->agent ? view->hello->agent : "?",
         *view->hello->kernel ? view->hello->kernel : "?", up);
    if (!isnan(view->report_age_s))
        note(", and its report to vmwssd %s ago", SECONDS_TEXT(ceil(view->report_age_s)));
    note("\n");
}

void guest_view_print(const struct guest_view *view)
{
    print_heading(view);
    print_memory(view);
    if (!view->report) {
        if (!domain_memory_is_reported(&view->memory))
            note("balloon: its driver in the guest has reported nothing lately "
                 "(<memballoon model='virtio'><stats period='10'/></memballoon> asks it)\n");
        return;
    }
    print_pressure(view->report);
    print_paging(view);
    print_processes(view->top);
    print_unseen(view->report);
    print_verdict(&view->stats);
}
