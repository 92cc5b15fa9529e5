// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ages.c  See ages.h. */
#include "show/ages.h"

#include "base/text/json.h"
#include "base/text/units.h"
#include "show/chart.h"
#include "show/sample_json.h"
#include "show/sample_table.h"
#include "show/table.h"

#include <math.h>
#include <stdio.h>

static const struct table_column columns[] = {
    {.name = "LAST TOUCHED"},     {.name = "BYTES", .right = true},
    {.name = "±", .right = true}, {.name = "SHARE", .right = true},
    {.name = "OF RESIDENT"},
};
#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

void age_bin_label(char *text, size_t size, const struct age_bin *bin)
{
    char from[24];
    char to[24];

    show_seconds(from, sizeof(from), bin->from_s);
    if (isinf(bin->to_s)) {
        snprintf(text, size, "> %s", from);
        return;
    }
    show_seconds(to, sizeof(to), bin->to_s);
    snprintf(text, size, "%s .. %s", from, to);
}

static void add_bin(struct table *table, const struct sample_record *sample,
                    const struct age_bin *bin)
{
    char cell[N_COLUMNS][64];
    const char *cells[N_COLUMNS];
    const size_t size = sizeof(cell[0]);
    double share = sample->resident_bytes ? (double)bin->bytes / (double)sample->resident_bytes : 0;

    age_bin_label(cell[0], size, bin);
    show_bytes(cell[1], size, bin->bytes);
    show_error(cell[2], size, bin->bytes, bin->low_bytes, bin->high_bytes);
    snprintf(cell[3], size, "%.1f%%", 100 * share);
    show_bar(cell[4], size, share);
    for (size_t i = 0; i < N_COLUMNS; i++)
        cells[i] = cell[i];
    table_row(table, cells);
}

void ages_table_print(const struct ages_record *record)
{
    struct table *table = table_new(columns, N_COLUMNS);

    if (!table)
        return;
    sample_table_print(&record->sample, true);
    putchar('\n');
    for (size_t b = 0; b < record->n_bins; b++)
        add_bin(table, &record->sample, &record->bins[b]);
    table_print(table, true);
    table_free(table);
    fflush(stdout);
}

static json_t *bin_json(const struct age_bin *bin)
{
    json_t *object = json_object();

    json_object_set_new(object, "from_s", json_real(bin->from_s));
    json_object_set_new(object, "to_s", isinf(bin->to_s) ? json_null() : json_real(bin->to_s));
    json_object_set_new(object, "bytes", json_integer((json_int_t)bin->bytes));
    json_object_set_new(object, "low_bytes", json_integer((json_int_t)bin->low_bytes));
    json_object_set_new(object, "high_bytes", json_integer((json_int_t)bin->high_bytes));
    return object;
}

int ages_json_print(const struct ages_record *record)
{
    json_t *object = sample_json(&record->sample, "vmwss.ages.v1");
    json_t *ages = json_array();

    for (size_t b = 0; b < record->n_bins; b++)
        json_array_append_new(ages, bin_json(&record->bins[b]));
    json_object_set_new(object, "ages", ages);
    return json_print_line(object);
}

#define MIB 1048576.0

int ages_svg_write(const struct ages_record *record, const char *path, struct error *error)
{
    struct chart_point points[RUN_MAX_WINDOWS + 1];
    char labels[RUN_MAX_WINDOWS + 1][64];
    char name[300];
    char heading[400];
    char subtitle[700];

    for (size_t b = 0; b < record->n_bins; b++) {
        const struct age_bin *bin = &record->bins[b];

        age_bin_label(labels[b], sizeof(labels[b]), bin);
        points[b] = (struct chart_point){
            .label = labels[b],
            .y = (double)bin->bytes / MIB,
            .low = (double)bin->low_bytes / MIB,
            .high = (double)bin->high_bytes / MIB,
        };
    }
    sample_name(name, sizeof(name), &record->sample);
    snprintf(heading, sizeof(heading), "%s: ages of its memory", name);
    sample_picture_subtitle(subtitle, sizeof(subtitle), &record->sample);

    const struct chart chart = {
        .title = heading,
        .subtitle = subtitle,
        .x_title = "time since the last touch",
        .y_title = "MiB",
        .bars = true,
        .top = (double)record->sample.resident_bytes / MIB,
        .top_label = "resident",
        .n = record->n_bins,
        .points = points,
    };

    return chart_write(&chart, path, error);
}
