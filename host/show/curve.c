// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/curve.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text/units.h"
#include "base/utf8.h"
#include "show/chart.h"
#include "show/sample_table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct sheet_column columns[] = {
    {"window_s", {.name = "WINDOW", .right = true}},
    {"est_window_s", {.name = "EST", .right = true}},
    {"wss_bytes", {.name = "WSS", .right = true}},
    {"error", {.name = "±", .right = true}},
    {"new", {.name = "NEW", .right = true}},
    {"touched", {.name = "TOUCHED", .right = true}},
    {"bar", {.name = "OF RESIDENT"}},
};
static const char *const csv_names[] = {
    "time",           "host",         "domain",    "uuid",          "method",
    "window_s",       "est_window_s", "wss_bytes", "wss_low_bytes", "wss_high_bytes",
    "resident_bytes", "vcpu_seconds", NULL};

/* The names of what a curve shows: the working set, or the write working set. */
struct quantity {
    const char *bytes, *low, *high, *heading, *share, *axis;
};

static const struct quantity touched = {"wss_bytes", "wss_low_bytes", "wss_high_bytes",
                                        "WSS",       "TOUCHED",       "WSS, MiB"};
static const struct quantity written = {
    "write_set_bytes", "write_set_low_bytes",   "write_set_high_bytes", "WRITTEN",
    "OF RES.",         "write working set, MiB"};

static bool is_of_writes(const struct sample_record *record)
{
    return record->writes.n > 0;
}

static const struct quantity *quantity_of(const struct sample_record *record)
{
    return is_of_writes(record) ? &written : &touched;
}

static size_t n_windows(const struct sample_record *record)
{
    return is_of_writes(record) ? record->writes.n : record->n_windows;
}

static struct window_record window_at(const struct sample_record *record, size_t w)
{
    if (!is_of_writes(record))
        return record->windows[w];

    const struct write_point *point = &record->writes.points[w];

    return (struct window_record){.window_s = point->window_s,
                                  .est_window_s = point->est_window_s,
                                  .wss_bytes = point->bytes,
                                  .wss_low_bytes = point->low_bytes,
                                  .wss_high_bytes = point->high_bytes,
                                  .vcpu_s = record->vcpu_s};
}

static void fill_window(struct sheet *sheet, const struct sample_record *record, size_t w)
{
    const struct quantity *quantity = quantity_of(record);
    const struct window_record now = window_at(record, w);
    const struct window_record *window = &now;
    const uint64_t before = w ? window_at(record, w - 1).wss_bytes : 0;
    char text[64];

    sheet_row(sheet);
    sheet_time(sheet, "time", timespec_s(&record->time), 3);
    sheet_guest(sheet, record->host, record->domain, record->uuid);
    sheet_text(sheet, "method", record->method);
    sheet_seconds(sheet, "window_s", window->window_s);
    sheet_seconds(sheet, "est_window_s", window->est_window_s);
    sheet_bytes(sheet, quantity->bytes, window->wss_bytes);
    sheet_bytes(sheet, quantity->low, window->wss_low_bytes);
    sheet_bytes(sheet, quantity->high, window->wss_high_bytes);
    sheet_bytes(sheet, "resident_bytes", record->resident_bytes);
    sheet_real(sheet, "vcpu_seconds", window->vcpu_s);
    sheet_cell(sheet, "error", "%s",
               show_error(text, sizeof(text), window->wss_bytes, window->wss_low_bytes,
                          window->wss_high_bytes));
    sheet_cell_bytes(sheet, "new", fmax(0, (double)window->wss_bytes - (double)before));
    window_share_text(text, sizeof(text), record, window);
    sheet_cell(sheet, "touched", "%s", text);
    sheet_cell(sheet, "bar", "%s",
               show_bar(text, sizeof(text), fmax(0, window_share(record, window))));
}

/* Replaces the names of the working set's numbers. */
static void name_quantity(const struct quantity *quantity, struct sheet_column *made,
                          const char **names)
{
    memcpy(made, columns, sizeof(columns));
    memcpy(names, csv_names, sizeof(csv_names));
    for (size_t c = 0; c < COUNT(columns); c++)
        if (!strcmp(made[c].key, touched.bytes))
            made[c] = (struct sheet_column){quantity->bytes, {quantity->heading, .right = true}};
        else if (!strcmp(made[c].key, "touched"))
            made[c].head.name = quantity->share;
    for (size_t i = 0; names[i]; i++)
        if (!strcmp(names[i], touched.bytes))
            names[i] = quantity->bytes;
        else if (!strcmp(names[i], touched.low))
            names[i] = quantity->low;
        else if (!strcmp(names[i], touched.high))
            names[i] = quantity->high;
}

int curve_print(const struct sample_record *const *records, size_t n, enum show_format format)
{
    struct sheet_column made[COUNT(columns)];
    const char *names[COUNT(csv_names)];
    struct sheet sheet;

    name_quantity(quantity_of(records[0]), made, names);
    sheet_begin(&sheet, format, NULL, names);
    if (format == SHOW_TABLE)
        sample_head_print(records[0]);
    sheet_list(&sheet, NULL, made, COUNT(made));
    for (size_t i = 0; i < n; i++)
        for (size_t w = 0; w < n_windows(records[i]); w++)
            fill_window(&sheet, records[i], w);
    sheet_close(&sheet);
    return sheet_end(&sheet);
}

/* --- the picture ------------------------------------------------------------------------------ */

#define MIB 1048576.0

/* One record's curve, with the storage for its texts. */
struct drawn {
    struct chart_point points[RUN_MAX_WINDOWS];
    char labels[RUN_MAX_WINDOWS][16];
    char name[400];
};

static void draw_points(struct drawn *drawn, const struct sample_record *record)
{
    for (size_t w = 0; w < n_windows(record); w++) {
        const struct window_record window = window_at(record, w);

        show_seconds(drawn->labels[w], sizeof(drawn->labels[w]), window.window_s);
        drawn->points[w] = (struct chart_point){
            .x = window.est_window_s,
            .label = drawn->labels[w],
            .y = (double)window.wss_bytes / MIB,
            .low = (double)window.wss_low_bytes / MIB,
            .high = (double)window.wss_high_bytes / MIB,
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

/* For one guest, curves are labelled with times; for several guests, with names, and also with
 * times if a guest was measured repeatedly. */
static void name_curve(struct drawn *drawn, const struct sample_record *record, bool with_name)
{
    char name[300];

    sample_name(name, sizeof(name), record);
    snprintf(drawn->name, sizeof(drawn->name), "%s%s%s", with_name ? name : "",
             with_name ? ", " : "", TIME_TEXT(timespec_s(&record->time), 0));
}

static void subtitle_of_several(char *text, size_t size, const struct sample_record *const *records,
                                size_t n)
{
    char host[sizeof(records[0]->host)];
    unsigned flags = 0;

    for (size_t i = 0; i < n; i++)
        flags |= records[i]->flags;
    snprintf(text, size, "%s; bands are 95 %% intervals%s%s",
             utf8_printable_copy(host, sizeof(host), records[0]->host),
             flags ? "; flags of any: " : "", SAMPLE_FLAGS(flags));
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
            more[i - 1] = (struct chart_curve){drawn[i].name, n_windows(records[i]),
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
        .y_title = quantity_of(first)->axis,
        .log_x = log_x,
        .top = n == 1 ? (double)first->resident_bytes / MIB : 0,
        .top_label = "resident",
        .n = n_windows(first),
        .points = drawn[0].points,
        .label = drawn[0].name,
        .n_more = n - 1,
        .more = more,
    };

    return chart_write(&chart, path, error);
}
