// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file history_writes.c  The write working sets of a guest; see history.h. */
#include "show/history.h"

#include "base/text/units.h"
#include "measure/record/field.h"
#include "show/field_json.h"

#include <math.h>

static const struct sheet_column columns[] = {
    {"time", {.name = "TIME"}},
    {"window_s", {.name = "WINDOW", .right = true}},
    {"est_window_s", {.name = "EST", .right = true, .rank = 3}},
    {"write_set_bytes", {.name = "WRITTEN", .right = true}},
    {"error", {.name = "±", .right = true, .rank = 1}},
    {"method", {.name = "METHOD", .rank = 4}},
    {"shown_flags", {.name = "FLAGS", .last = true, .rank = 2}},
};
static const char *const csv[] = {"time",
                                  "host",
                                  "domain",
                                  "uuid",
                                  "method",
                                  "granularity_bytes",
                                  "sparse_end_bytes",
                                  "flags",
                                  "window_s",
                                  "est_window_s",
                                  "write_set_bytes",
                                  "write_set_low_bytes",
                                  "write_set_high_bytes",
                                  NULL};

/* The fields with a name in JSON, which is also that in CSV, of a struct that the table describes.
 */
static void fill_fields(struct sheet *sheet, const struct field *fields, const void *base)
{
    struct field_value value;

    for (const struct field *field = fields; field->type; field++) {
        if (!field->json || field->type == FIELD_POINTS)
            continue;
        field_get(field, base, &value);
        sheet_json(sheet, field->json, value_json(&value, field->digit));
    }
}

static void fill_point(struct sheet *sheet, const struct history_guest *guest,
                       const struct kept_writes *writes, const struct write_point *point)
{
    sheet_row(sheet);
    sheet_time(sheet, "time", writes->time_s, 3);
    sheet_guest(sheet, guest->host, guest->name, guest->uuid);
    fill_fields(sheet, write_fields(), &writes->curve);
    fill_fields(sheet, write_point_fields(), point);
    sheet_cell(sheet, "window_s", "%s", SECONDS_SHORT_TEXT(point->window_s));
    sheet_cell(sheet, "est_window_s", "%.3gs", point->est_window_s);
    sheet_cell_bytes(sheet, "write_set_bytes", (double)point->bytes);
    sheet_cell(sheet, "error", "%s", ERROR_TEXT(point->bytes, point->low_bytes, point->high_bytes));
    sheet_cell(sheet, "method", "%s", writes->curve.method);
    sheet_cell(sheet, "shown_flags", "%s", SAMPLE_FLAGS(writes->curve.flags));
}

int history_writes_print(enum show_format format, const struct history_guest *guest,
                         const struct kept_writes *writes, size_t n, double window_s)
{
    struct sheet sheet;

    sheet_begin(&sheet, format, "vmwss.write_set.v1", csv);
    sheet_list(&sheet, NULL, columns, COUNT(columns));
    for (size_t i = 0; i < n; i++)
        for (size_t p = 0; p < writes[i].curve.n; p++) {
            const struct write_point *point = &writes[i].curve.points[p];

            if (window_s == 0 || fabs(point->window_s - window_s) < window_s / 1e6)
                fill_point(&sheet, guest, &writes[i], point);
        }
    sheet_close(&sheet);
    return sheet_end(&sheet);
}
