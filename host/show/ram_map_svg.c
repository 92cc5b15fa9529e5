// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ram_map_svg.c  ram_map_svg_write(): see ram_map.h. */
#include "show/ram_map.h"

#include "base/text/units.h"
#include "show/sample_table.h"
#include "show/svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WIDTH 960.0
#define LEFT 90.0
#define RIGHT 20.0
#define TOP 60.0
#define ROW 18.0      /* height of a line */
#define ROW_LEAST 3.0 /* minimum height of a line if there are many periods, ... */
#define HEIGHT 600.0  /* ... whose total height is about this */
#define LABEL 14.0    /* height of the label of a line */
#define REGION 44.0   /* space between two regions, for the heading and the addresses */
#define BLUE "#0969da"
#define GREY "#8c959f"
#define UNKNOWN "#f6f8fa"
#define ORANGE "#bc4c00"
#define MARK 4.0 /* width of the bar beside a period */

/* One map with its windows and resident memory, or periods, each with one window. */
struct drawing {
    /* the map, or the last period's map: all periods have the same chunks */
    const struct ram_map *map;
    const struct sample_record *record;
    const struct map_series *series; /* NULL: one map */
    unsigned some_flags;             /* flags that some, but not all, periods have */
    double row;                      /* height of a line */
};

static size_t rows_of(const struct drawing *drawing)
{
    return drawing->series ? drawing->series->n : drawing->map->n_windows + 1;
}

static double height_of(const struct drawing *drawing)
{
    return TOP +
           (double)drawing->map->n_regions * (REGION + drawing->row * (double)rows_of(drawing)) +
           20;
}

/* All regions have the same scale. */
static double chunk_width(const struct ram_map *map)
{
    return (WIDTH - LEFT - RIGHT) / (double)ram_map_longest(map);
}

struct cell {
    double x, y, width, height;
};

static void draw_cell(struct svg *svg, const struct cell *cell, const char *colour, double share)
{
    if (share <= 0)
        return;
    svg_begin(svg, "rect");
    svg_number_attribute(svg, "x", cell->x);
    svg_number_attribute(svg, "y", cell->y);
    svg_keep(svg,
             xmlTextWriterWriteFormatAttribute(svg->out, BAD_CAST "width", "%.3f", cell->width));
    svg_number_attribute(svg, "height", cell->height);
    svg_text_attribute(svg, "fill", colour);
    svg_keep(svg,
             xmlTextWriterWriteFormatAttribute(svg->out, BAD_CAST "fill-opacity", "%.3f", share));
    svg_end(svg);
}

static double cell_height(const struct drawing *drawing)
{
    return drawing->row > 8 ? drawing->row - 2 : drawing->row;
}

static void draw_row(struct svg *svg, const struct drawing *drawing,
                     const struct map_region *region, size_t row, double y)
{
    const struct ram_map *map = drawing->series ? &drawing->series->period[row].map : drawing->map;
    const size_t window = drawing->series ? 0 : row;
    struct cell cell = {LEFT, y, chunk_width(map), cell_height(drawing)};

    for (size_t c = 0; c < region->n_chunks; c++) {
        const size_t chunk = region->first_chunk + c;
        const struct map_figures figures = ram_map_figures(map, chunk);

        cell.x = LEFT + (double)c * cell.width;
        if (!figures.known)
            svg_rectangle(svg, cell.x, cell.y, cell.width, cell.height, UNKNOWN);
        else if (window < map->n_windows)
            draw_cell(svg, &cell, BLUE,
                      (double)ram_map_touched(map, chunk, window).bytes / (double)figures.bytes);
        else
            draw_cell(svg, &cell, GREY, (double)figures.resident_bytes / (double)figures.bytes);
    }
}

static void draw_mark(struct svg *svg, const struct drawing *drawing, size_t row, double y)
{
    if (drawing->series && drawing->series->period[row].record.flags & drawing->some_flags)
        svg_rectangle(svg, LEFT - 6, y, MARK, cell_height(drawing), ORANGE);
}

/* If lines are lower than a label, only some of them have one. */
static void draw_row_label(struct svg *svg, const struct drawing *drawing, size_t row, double y)
{
    const struct map_series *series = drawing->series;
    char text[40];

    if (series && row % (size_t)ceil(LABEL / drawing->row) != 0)
        return;
    if (series)
        map_period_clock(&series->period[row], text, sizeof(text));
    else if (row < drawing->map->n_windows)
        show_seconds(text, sizeof(text), drawing->record->windows[row].window_s);
    else
        snprintf(text, sizeof(text), "resident");
    svg_label(svg, LEFT - 8, y + fmin(12, fmax(8, drawing->row)), "end", 12, text);
}

static void draw_addresses(struct svg *svg, const struct ram_map *map,
                           const struct map_region *region, double y)
{
    const double end = LEFT + (double)region->n_chunks * chunk_width(map);
    const uint64_t bytes = region->n_pages * base_page_bytes();
    const uint64_t begin = region->gpa == GPA_NONE ? 0 : region->gpa;
    const char *sign = region->gpa == GPA_NONE ? "+" : "";
    char text[40];

    snprintf(text, sizeof(text), "%s0x%llx", sign, (unsigned long long)begin);
    svg_label(svg, LEFT, y, "start", 11, text);
    if (end - LEFT < 200)
        return;
    snprintf(text, sizeof(text), "%s0x%llx", sign, (unsigned long long)(begin + bytes));
    svg_label(svg, end, y, "end", 11, text);
}

static void draw_region(struct svg *svg, const struct drawing *drawing,
                        const struct map_region *region, double y)
{
    const struct ram_map *map = drawing->map;
    char text[128];

    snprintf(text, sizeof(text), "%s%s%s, %s", region->dimm ? "DIMM " : "",
             *region->block ? region->block : "guest RAM", map_region_place(region),
             BYTES_TEXT(region->n_pages * base_page_bytes()));
    svg_label(svg, LEFT, y + 14, "start", 12, text);
    for (size_t row = 0; row < rows_of(drawing); row++) {
        const double at = y + 20 + (double)row * drawing->row;

        draw_row_label(svg, drawing, row, at);
        draw_mark(svg, drawing, row, at);
        draw_row(svg, drawing, region, row, at);
    }
    draw_addresses(svg, map, region, y + 20 + (double)rows_of(drawing) * drawing->row + 12);
}

static void draw_subtitle(struct svg *svg, const struct drawing *drawing)
{
    char text[1000];

    sample_picture_subtitle(text, sizeof(text), drawing->record);
    if (drawing->some_flags) {
        const size_t used = strlen(text);

        snprintf(text + used, sizeof(text) - used, " (orange: periods with %s)",
                 SAMPLE_FLAGS(drawing->some_flags));
    }
    svg_label_within(svg, LEFT, 44, WIDTH - LEFT - RIGHT, 12, text);
}

static void draw_map(struct svg *svg, const void *context)
{
    const struct drawing *drawing = context;
    const struct ram_map *map = drawing->map;
    char name[300];
    char text[400];

    sample_name(name, sizeof(name), drawing->record);
    svg_rectangle(svg, 0, 0, WIDTH, height_of(drawing), "#ffffff");
    snprintf(text, sizeof(text), "%s: where its memory was touched, %s", name,
             drawing->series ? "period after period (UTC)" : "within each window");
    svg_label_within(svg, LEFT, 24, WIDTH - LEFT - RIGHT, 16, text);
    draw_subtitle(svg, drawing);
    for (size_t r = 0; r < map->n_regions; r++)
        draw_region(svg, drawing, &map->regions[r],
                    TOP + (double)r * (REGION + drawing->row * (double)rows_of(drawing)));
}

static int write_drawing(const struct drawing *drawing, const char *path, struct error *error)
{
    const struct svg_picture picture = {WIDTH, height_of(drawing), draw_map, drawing};

    return svg_write(&picture, path, error);
}

int ram_map_svg_write(const struct ram_map *map, const struct sample_record *record,
                      const char *path, struct error *error)
{
    const struct drawing drawing = {.map = map, .record = record, .row = ROW};

    return write_drawing(&drawing, path, error);
}

int map_series_svg_write(const struct map_series *series, const char *path, struct error *error)
{
    const struct sample_record head = map_series_head(series);
    const struct drawing drawing = {
        .map = &series->period[series->n - 1].map,
        .record = &head,
        .series = series,
        .some_flags = map_series_some_flags(series),
        .row = fmax(ROW_LEAST, fmin(ROW, HEIGHT / (double)series->n)),
    };

    return write_drawing(&drawing, path, error);
}
