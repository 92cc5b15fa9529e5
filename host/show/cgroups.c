// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/cgroups.h"

#include "base/text/units.h"

#include <stdlib.h>
#include <string.h>

#define KIND_ALL FRAME_KINDS

static const char *kind_name(unsigned kind)
{
    return kind == KIND_ALL ? "all" : frame_kind_name((enum frame_kind)kind);
}

static const struct group_usage *usage_of(const struct cgroups_row *row, unsigned kind)
{
    return kind == KIND_ALL ? &row->all : &row->kinds[kind];
}

static const char *flag_name(unsigned number)
{
    static const char *const names[] = {"ageing", "stale-tlb", "damon-active", "mglru"};

    return number < COUNT(names) ? names[number] : NULL;
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

/* --- the sheet -------------------------------------------------------------------------------- */

static const struct sheet_column columns[] = {
    {"guests", {.name = "GUEST", .cut = true}},
    {"touched_bytes", {.name = "TOUCHED", .right = true}},
    {"error", {.name = "±", .right = true, .rank = 1}},
    {"share", {.name = "SHARE", .right = true, .rank = 4}},
    {"bytes", {.name = "MEMORY", .right = true, .rank = 2}},
    {"kind", {.name = "KIND", .rank = 3}},
    {"flags", {.name = "FLAGS", .rank = 5}},
    {"path", {.name = "GROUP", .last = true}},
};

static const char *const csv_names[] = {
    "path",          "guests",    "kind",       "bytes",
    "touched_bytes", "low_bytes", "high_bytes", "unmeasurable_bytes",
    "gone_bytes",    "flags",     NULL};

static void fill_usage(struct sheet *sheet, const struct group_usage *usage)
{
    const bool csv = sheet->format == SHOW_CSV;
    const double share = usage->bytes ? (double)usage->touched / (double)usage->bytes : 0;

    sheet_bytes(sheet, "bytes", usage->bytes);
    sheet_bytes(sheet, "touched_bytes", usage->touched);
    sheet_bytes(sheet, csv ? "low_bytes" : "touched_low_bytes", usage->low);
    sheet_bytes(sheet, csv ? "high_bytes" : "touched_high_bytes", usage->high);
    sheet_bytes(sheet, "unmeasurable_bytes", usage->unmeasurable);
    sheet_bytes(sheet, "gone_bytes", usage->gone);
    sheet_cell(sheet, "error", "%s", ERROR_TEXT(usage->touched, usage->low, usage->high));
    sheet_cell(sheet, "share", "%.1f%%", 100 * share);
}

static void fill_kinds(struct sheet *sheet, const struct cgroups_row *row)
{
    sheet_group(sheet, "kinds");
    for (unsigned kind = 0; kind < FRAME_KINDS; kind++) {
        sheet_group(sheet, kind_name(kind));
        fill_usage(sheet, &row->kinds[kind]);
        sheet_close(sheet);
    }
    sheet_close(sheet);
}

/* Tables and CSV have kinds as rows; JSON has them as groups. */
static void fill_row(struct sheet *sheet, const struct cgroups_row *row, unsigned kind)
{
    sheet_row(sheet);
    fill_usage(sheet, usage_of(row, kind));
    sheet_text(sheet, "path", row->path);
    sheet_text(sheet, "guests", row->guests);
    if (sheet->format == SHOW_JSON)
        fill_kinds(sheet, row);
    else
        sheet_text(sheet, "kind", kind_name(kind));
    sheet_bytes(sheet, "kernel_bytes", row->kernel_bytes);
    sheet_bits(sheet, "flags", row->flags, flag_name);
}

/* A table omits the kinds of memory that the group does not have. */
static bool is_shown(enum show_format format, bool kinds, const struct cgroups_row *row,
                     unsigned kind)
{
    if (format == SHOW_CSV)
        return true;
    if (format == SHOW_JSON || !kinds)
        return kind == KIND_ALL;
    return kind != KIND_ALL && row->kinds[kind].bytes > 0;
}

int cgroups_print(const struct cgroups_report *report, uint64_t top, bool kinds,
                  enum show_format format)
{
    struct sheet sheet;

    sheet_begin(&sheet, format, "vmwss.cgroups.v1", csv_names);
    sheet_time(&sheet, "time", report->unix_s, 3);
    sheet_text(&sheet, "host", report->host);
    sheet_real(&sheet, "window_s", report->window_s);
    sheet_real(&sheet, "est_window_s", sheet_rounded(report->est_window_s, 1e-3));
    sheet_real(&sheet, "cpu_seconds", sheet_rounded(report->cpu_s, 1e-6));
    sheet_list(&sheet, "groups", columns, COUNT(columns));
    for (size_t i = 0; i < report->n && i < top; i++)
        for (unsigned kind = 0; kind <= KIND_ALL; kind++)
            if (is_shown(format, kinds, &report->rows[i], kind))
                fill_row(&sheet, &report->rows[i], kind);
    if (!kinds)
        sheet_hide(&sheet, "kind");
    sheet_close(&sheet);
    return sheet_end(&sheet);
}
