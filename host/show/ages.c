// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/ages.h"

#include "base/bytes.h"
#include "base/text/units.h"
#include "show/chart.h"
#include "show/sample_json.h"
#include "show/sample_table.h"

#include <math.h>
#include <stdio.h>

static const struct sheet_column columns[] = {
    {"label", {.name = "LAST TOUCHED"}},     {"bytes", {.name = "BYTES", .right = true}},
    {"error", {.name = "±", .right = true}}, {"share", {.name = "SHARE", .right = true}},
    {"bar", {.name = "OF RESIDENT"}},
};

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

static void fill_bin(struct sheet *sheet, const struct sample_record *sample,
                     const struct age_bin *bin)
{
    double share = sample->resident_bytes ? (double)bin->bytes / (double)sample->resident_bytes : 0;
    char text[64];

    sheet_row(sheet);
    sheet_real(sheet, "from_s", bin->from_s);
    sheet_real(sheet, "to_s", bin->to_s);
    sheet_bytes(sheet, "bytes", bin->bytes);
    sheet_bytes(sheet, "low_bytes", bin->low_bytes);
    sheet_bytes(sheet, "high_bytes", bin->high_bytes);
    age_bin_label(text, sizeof(text), bin);
    sheet_cell(sheet, "label", "%s", text);
    sheet_cell(sheet, "error", "%s",
               show_error(text, sizeof(text), bin->bytes, bin->low_bytes, bin->high_bytes));
    sheet_cell(sheet, "share", "%.1f%%", 100 * share);
    sheet_cell(sheet, "bar", "%s", show_bar(text, sizeof(text), share));
}

int ages_print(const struct ages_record *record, enum show_format format)
{
    struct sheet sheet;

    sheet_begin(&sheet, format, "vmwss.ages.v1", NULL);
    if (format == SHOW_TABLE) {
        sample_table_print(&record->sample, true);
        putchar('\n');
    }
    sample_fill(&sheet, &record->sample);
    sheet_list(&sheet, "ages", columns, COUNT(columns));
    for (size_t b = 0; b < record->n_bins; b++)
        fill_bin(&sheet, &record->sample, &record->bins[b]);
    sheet_close(&sheet);
    fflush(stdout);
    return sheet_end(&sheet);
}

#define MIB 1048576.0

/* The bars of the time since the last write are the differences of the write curve. Returns their
 * number; 0 if the curve has not the same windows as the ages. */
static size_t draw_writes(const struct ages_record *record, struct chart_point *points)
{
    const struct write_curve *curve = &record->sample.writes;
    const uint64_t all_bytes = record->sample.resident_bytes;
    const struct write_point all = {
        .bytes = all_bytes, .low_bytes = all_bytes, .high_bytes = all_bytes};
    struct write_point younger = {0};

    if (curve->n + 1 != record->n_bins)
        return 0;
    for (size_t b = 0; b < record->n_bins; b++) {
        const struct write_point *point = b < curve->n ? &curve->points[b] : &all;

        points[b] = (struct chart_point){
            .y = (double)less(point->bytes, younger.bytes) / MIB,
            .low = (double)less(point->low_bytes, younger.high_bytes) / MIB,
            .high = (double)less(point->high_bytes, younger.low_bytes) / MIB,
        };
        younger = *point;
    }
    return record->n_bins;
}

int ages_svg_write(const struct ages_record *record, const char *path, struct error *error)
{
    struct chart_point points[RUN_MAX_WINDOWS + 1];
    struct chart_point written[RUN_MAX_WINDOWS + 1];
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

    const struct chart_curve writes = {"last written", draw_writes(record, written), written};
    const struct chart chart = {
        .title = heading,
        .subtitle = subtitle,
        .x_title = writes.n > 0 ? "time since then" : "time since the last touch",
        .y_title = "MiB",
        .bars = true,
        .top = (double)record->sample.resident_bytes / MIB,
        .top_label = "resident",
        .n = record->n_bins,
        .points = points,
        .label = "last touched",
        .n_more = writes.n > 0,
        .more = &writes,
    };

    return chart_write(&chart, path, error);
}
