// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cgroups.c  See cgroups.h. */
#include "show/cgroups.h"

#include "base/bytes.h"
#include "base/text/csv.h"
#include "base/text/json.h"
#include "base/text/units.h"
#include "base/utf8.h"
#include "show/table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define KIND_ALL FRAME_KINDS
#define KIND_COLUMN 5

static const char *kind_name(unsigned kind)
{
    return kind == KIND_ALL ? "all" : frame_kind_name((enum frame_kind)kind);
}

static const struct group_usage *usage_of(const struct cgroups_row *row, unsigned kind)
{
    return kind == KIND_ALL ? &row->all : &row->kinds[kind];
}

/* Returns the name of flag @p number; NULL if it is not set. */
static const char *flag_name(unsigned flags, unsigned number)
{
    static const char *const names[] = {"ageing", "stale-tlb", "damon-active", "mglru"};

    return number < sizeof(names) / sizeof(names[0]) && flags >> number & 1 ? names[number] : NULL;
}

#define MAX_FLAGS 4

static char *flags_text(char *text, size_t size, unsigned flags)
{
    size_t used = 0;

    *text = '\0';
    for (unsigned f = 0; f < MAX_FLAGS; f++)
        if (flag_name(flags, f) && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "," : "",
                                     flag_name(flags, f));
    return text;
}

static int by_touched(const void *a, const void *b)
{
    const struct cgroups_row *left = a;
    const struct cgroups_row *right = b;

    if (left->all.touched != right->all.touched)
        return left->all.touched < right->all.touched ? 1 : -1;
    return strcmp(left->path, right->path);
}

void cgroups_sort(struct cgroups_report *report)
{
    qsort(report->rows, report->n, sizeof(*report->rows), by_touched);
}

/* --- for people ------------------------------------------------------------------------------- */

static int print_usage(struct table *table, const struct cgroups_row *row, unsigned kind)
{
    const struct group_usage *usage = usage_of(row, kind);
    char touched[32], error[64], share[16], memory[32], flags[64], path[512];
    const char *cells[] = {
        row->guests,
        show_bytes(touched, sizeof(touched), usage->touched),
        show_error(error, sizeof(error), usage->touched, usage->low, usage->high),
        share,
        show_bytes(memory, sizeof(memory), usage->bytes),
        kind_name(kind),
        flags_text(flags, sizeof(flags), row->flags),
        utf8_printable_copy(path, sizeof(path), row->path),
    };

    snprintf(share, sizeof(share), "%.1f%%",
             usage->bytes ? 100.0 * (double)usage->touched / (double)usage->bytes : 0.0);
    return table_row(table, cells);
}

static int print_row(struct table *table, const struct cgroups_row *row, bool kinds)
{
    int rc = 0;

    if (!kinds)
        return print_usage(table, row, KIND_ALL);
    for (unsigned kind = 0; rc == 0 && kind < FRAME_KINDS; kind++)
        if (row->kinds[kind].bytes)
            rc = print_usage(table, row, kind);
    return rc;
}

int cgroups_print(const struct cgroups_report *report, uint64_t top, bool kinds)
{
    static const struct table_column columns[] = {
        {.name = "GUEST", .cut = true},
        {.name = "TOUCHED", .right = true},
        {.name = "±", .right = true, .rank = 1},
        {.name = "SHARE", .right = true, .rank = 4},
        {.name = "MEMORY", .right = true, .rank = 2},
        {.name = "KIND", .rank = 3},
        {.name = "FLAGS", .rank = 5},
        {.name = "GROUP", .last = true},
    };
    struct table *table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
    int rc = table ? 0 : -ENOMEM;

    for (size_t i = 0; rc == 0 && i < report->n && i < top; i++)
        rc = print_row(table, &report->rows[i], kinds);
    if (table && !kinds)
        table_hide(table, KIND_COLUMN);
    if (rc == 0)
        table_print(table, true);
    table_free(table);
    return rc;
}

/* --- for scripts ------------------------------------------------------------------------------ */

static json_t *usage_json(const struct group_usage *usage)
{
    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I}", "bytes", (json_int_t)usage->bytes,
                     "touched_bytes", (json_int_t)usage->touched, "touched_low_bytes",
                     (json_int_t)usage->low, "touched_high_bytes", (json_int_t)usage->high,
                     "unmeasurable_bytes", (json_int_t)usage->unmeasurable, "gone_bytes",
                     (json_int_t)usage->gone);
}

static json_t *row_json(const struct cgroups_row *row)
{
    json_t *object = usage_json(&row->all);
    json_t *kinds = json_object();
    json_t *flags = json_array();

    json_object_set_new(object, "path", json_text(row->path));
    json_object_set_new(object, "guests", json_text(row->guests));
    for (unsigned kind = 0; kind < FRAME_KINDS; kind++)
        json_object_set_new(kinds, kind_name(kind), usage_json(&row->kinds[kind]));
    json_object_set_new(object, "kinds", kinds);
    json_object_set_new(object, "kernel_bytes", json_integer((json_int_t)row->kernel_bytes));
    for (unsigned f = 0; f < MAX_FLAGS; f++)
        if (flag_name(row->flags, f))
            json_array_append_new(flags, json_string(flag_name(row->flags, f)));
    json_object_set_new(object, "flags", flags);
    return object;
}

int cgroups_json_print(const struct cgroups_report *report, uint64_t top)
{
    json_t *object = json_object();
    json_t *rows = json_array();
    char time[40];

    json_object_set_new(object, "schema", json_string("vmwss.cgroups.v1"));
    json_object_set_new(object, "time",
                        json_string(show_time(time, sizeof(time), report->unix_s, 3)));
    json_object_set_new(object, "host", json_text(report->host));
    json_object_set_new(object, "window_s", json_real(report->window_s));
    json_object_set_new(object, "est_window_s",
                        json_real(round(report->est_window_s * 1000) / 1000));
    json_object_set_new(object, "cpu_seconds", json_real(round(report->cpu_s * 1e6) / 1e6));
    for (size_t i = 0; i < report->n && i < top; i++)
        json_array_append_new(rows, row_json(&report->rows[i]));
    json_object_set_new(object, "groups", rows);
    return json_print_line(object);
}

void cgroups_csv_print(const struct cgroups_report *report, uint64_t top)
{
    static const char *const names[] = {
        "path",          "guests",    "kind",       "bytes",
        "touched_bytes", "low_bytes", "high_bytes", "unmeasurable_bytes",
        "gone_bytes",    "flags",     NULL};
    char flags[64];

    csv_heading(names);
    for (size_t i = 0; i < report->n && i < top; i++)
        for (unsigned kind = 0; kind <= FRAME_KINDS; kind++) {
            const struct cgroups_row *row = &report->rows[i];
            const struct group_usage *usage = usage_of(row, kind);
            struct csv csv = {0};

            csv_text(&csv, row->path);
            csv_text(&csv, row->guests);
            csv_text(&csv, kind_name(kind));
            csv_whole(&csv, usage->bytes);
            csv_whole(&csv, usage->touched);
            csv_whole(&csv, usage->low);
            csv_whole(&csv, usage->high);
            csv_whole(&csv, usage->unmeasurable);
            csv_whole(&csv, usage->gone);
            csv_text(&csv, flags_text(flags, sizeof(flags), row->flags));
            csv_end(&csv);
        }
}
