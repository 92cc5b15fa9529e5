// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file curve.c  See curve.h. */
#include "show/curve.h"

#include "base/cleanup.h"
#include "base/text/csv.h"
#include "base/text/units.h"
#include "base/utf8.h"
#include "show/chart.h"
#include "show/sample_table.h"
#include "show/table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct table_column columns[] = {
    {.name = "WINDOW", .right = true}, {.name = "EST", .right = true},
    {.name = "WSS", .right = true},    {.name = "±", .right = true},
    {.name = "NEW", .right = true},    {.name = "TOUCHED", .right = true},
    {.name = "OF RESIDENT"},
};
#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void add_window(struct table *table, const struct sample_record *record, size_t w)
{
    const struct window_record *window = &record->windows[w];
    uint64_t before = w ? record->windows[w - 1].wss_bytes : 0;
    char cell[N_COLUMNS][64];
    const char *cells[N_COLUMNS];
    const size_t size = sizeof(cell[0]);

    show_seconds(cell[0], size, window->window_s);
    show_seconds(cell[1], size, window->est_window_s);
    show_bytes(cell[2], size, window->wss_bytes);
    show_error(cell[3], size, window->wss_bytes, window->wss_low_bytes, window->wss_high_bytes);
    show_bytes(cell[4], size, window->wss_bytes > before ? window->wss_bytes - before : 0);
    window_share_text(cell[5], size, record, window);
    show_bar(cell[6], size, fmax(0, window_share(record, window)));
    for (size_t i = 0; i < N_COLUMNS; i++)
        cells[i] = cell[i];
    table_row(table, cells);
}

void curve_table_print(const struct sample_record *record)
{
    struct table *table = table_new(columns, N_COLUMNS);

    if (!table)
        return;
    sample_head_print(record);
    for (size_t w = 0; w < record->n_windows; w++)
        add_window(table, record, w);
    table_print(table, true);
    table_free(table);
}

static void print_csv(const struct sample_record *record)
{
    const double unix_s = (double)record->time.tv_sec + (double)record->time.tv_nsec / 1e9;
    char time[40];

    show_time(time, sizeof(time), unix_s, 3);
    for (size_t w = 0; w < record->n_windows; w++) {
        const struct window_record *window = &record->windows[w];
        struct csv csv = {0};

        csv_text(&csv, time);
        csv_text(&csv, record->host);
        csv_text(&csv, record->domain);
        csv_text(&csv, record->uuid);
        csv_text(&csv, record->method);
        csv_number(&csv, window->window_s);
        csv_number(&csv, window->est_window_s);
        csv_whole(&csv, window->wss_bytes);
        csv_whole(&csv, window->wss_low_bytes);
        csv_whole(&csv, window->wss_high_bytes);
        csv_whole(&csv, record->resident_bytes);
        csv_number(&csv, window->vcpu_s);
        csv_end(&csv);
    }
}

void curve_csv_print(const struct sample_record *const *records, size_t n)
{
    static const char *const names[] = {
        "time",           "host",         "domain",    "uuid",          "method",
        "window_s",       "est_window_s", "wss_bytes", "wss_low_bytes", "wss_high_bytes",
        "resident_bytes", "vcpu_seconds", NULL};

    csv_heading(names);
    for (size_t i = 0; i < n; i++)
        print_csv(records[i]);
}

/* --- the picture ------------------------------------------------------------------------------ */

#define MIB 1048576.0

/* One record's curve, and the storage of its texts. */
struct drawn {
    struct chart_point points[RUN_MAX_WINDOWS];
    char labels[RUN_MAX_WINDOWS][16];
    char name[400];
};

static void draw_points(struct drawn *drawn, const struct sample_record *record)
{
    for (size_t w = 0; w < record->n_windows; w++) {
        const struct window_record *window = &record->windows[w];

        show_seconds(drawn->labels[w], sizeof(drawn->labels[w]), window->window_s);
        drawn->points[w] = (struct chart_point){
            .x = window->est_window_s,
            .label = drawn->labels[w],
            .y = (double)window->wss_bytes / MIB,
            .low = (double)window->wss_low_bytes / MIB,
            .high = (double)window->wss_high_bytes / MIB,
        };
    }
}

static bool is_one_guest(const struct sample_record *const *records, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (strcmp(records[i]->uuid, records[0]->uuid) != 0 || records[i]->pid != records[0]->pid)
            return false;
    return true;
}

/* For one guest, times distinguish the curves; for several, their names, and times if they were
 * measured repeatedly. */
static void name_curve(struct drawn *drawn, const struct sample_record *record, bool with_name)
{
    const double unix_s = (double)record->time.tv_sec + (double)record->time.tv_nsec / 1e9;
    char name[300];
    char time[40];

    sample_name(name, sizeof(name), record);
    snprintf(drawn->name, sizeof(drawn->name), "%s%s%s", with_name ? name : "",
             with_name ? ", " : "", show_time(time, sizeof(time), unix_s, 0));
}

static void subtitle_of_several(char *text, size_t size, const struct sample_record *const *records,
                                size_t n)
{
    char host[sizeof(records[0]->host)];
    char names[SAMPLE_FLAGS_TEXT];
    unsigned flags = 0;

    for (size_t i = 0; i < n; i++)
        flags |= records[i]->flags;
    sample_flags_text(names, sizeof(names), flags);
    snprintf(text, size, "%s; bands are 95 %% intervals%s%s",
             utf8_printable_copy(host, sizeof(host), records[0]->host),
             flags ? "; flags of any: " : "", names);
}

int curve_svg_write(const struct sample_record *const *records, size_t n, const char *title,
                    bool log_x, const char *path, struct error *error)
{
    const struct sample_record *first = records[0];
    const bool one_guest = is_one_guest(records, n);
    cleanup_free struct drawn *drawn = calloc(n, sizeof(*drawn));
    struct chart_curve more[CHART_CURVES];
    char name[300];
    char heading[400];
    char subtitle[700];

    if (!drawn)
        return error_set(error, -ENOMEM, "%s: out of memory", path);
    for (size_t i = 0; i < n; i++) {
        draw_points(&drawn[i], records[i]);
        name_curve(&drawn[i], records[i], !one_guest);
        if (i > 0)
            more[i - 1] = (struct chart_curve){drawn[i].name, records[i]->n_windows,
                                               drawn[i].points};
    }
    sample_name(name, sizeof(name), first);
    if (one_guest)
        snprintf(heading, sizeof(heading), "%s: %s", name, title);
    else
        snprintf(heading, sizeof(heading), "%s", title);
    if (n == 1)
        sample_picture_subtitle(subtitle, sizeof(subtitle), first);
    else
        subtitle_of_several(subtitle, sizeof(subtitle), records, n);

    const struct chart chart = {
        .title = heading,
        .subtitle = subtitle,
        .x_title = "window (at its est length)",
        .y_title = "WSS, MiB",
        .log_x = log_x,
        .top = n == 1 ? (double)first->resident_bytes / MIB : 0,
        .top_label = "resident",
        .n = first->n_windows,
        .points = drawn[0].points,
        .label = drawn[0].name,
        .n_more = n - 1,
        .more = more,
    };

    return chart_write(&chart, path, error);
}
