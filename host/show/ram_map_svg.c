// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ram_map_svg.c  ram_map_svg_write(): see ram_map.h. */
#include "show/ram_map.h"

#include "show/sample_table.h"
#include "show/svg.h"
#include "show/units.h"

#include <stdio.h>

#define WIDTH 960.0
#define LEFT 90.0
#define RIGHT 20.0
#define TOP 60.0
#define ROW 18.0    /* the height of a line */
#define REGION 44.0 /* between two regions: the heading, and the addresses */
#define BLUE "#0969da"
#define GREY "#8c959f"
#define UNKNOWN "#f6f8fa"

struct drawing {
    const struct ram_map *map;
    const struct sample_record *record;
};

/* The windows, and what is resident. */
static size_t rows_of(const struct ram_map *map)
{
    return map->n_windows + 1;
}

static double height_of(const struct ram_map *map)
{
    return TOP + (double)map->n_regions * (REGION + ROW * (double)rows_of(map)) + 20;
}

/* All regions have the same scale. */
static double chunk_width(const struct ram_map *map)
{
    size_t most = 1;

    for (size_t r = 0; r < map->n_regions; r++)
        most = map->regions[r].n_chunks > most ? map->regions[r].n_chunks : most;
    return (WIDTH - LEFT - RIGHT) / (double)most;
}

static void draw_cell(struct svg *svg, double x, double y, double width, const char *colour,
                      double share)
{
    if (share <= 0)
        return;
    svg_begin(svg, "rect");
    svg_number_attribute(svg, "x", x);
    svg_number_attribute(svg, "y", y);
    svg_keep(svg, xmlTextWriterWriteFormatAttribute(svg->out, BAD_CAST "width", "%.3f", width));
    svg_number_attribute(svg, "height", ROW - 2);
    svg_text_attribute(svg, "fill", colour);
    svg_keep(svg,
             xmlTextWriterWriteFormatAttribute(svg->out, BAD_CAST "fill-opacity", "%.3f", share));
    svg_end(svg);
}

static void draw_row(struct svg *svg, const struct ram_map *map, const struct map_region *region,
                     size_t row, double y)
{
    const double width = chunk_width(map);

    for (size_t c = 0; c < region->n_chunks; c++) {
        const size_t chunk = region->first_chunk + c;
        const struct map_figures figures = ram_map_figures(map, chunk);
        const double x = LEFT + (double)c * width;

        if (!figures.known)
            svg_rectangle(svg, x, y, width, ROW - 2, UNKNOWN);
        else if (row < map->n_windows)
            draw_cell(svg, x, y, width, BLUE,
                      (double)ram_map_touched(map, chunk, row).bytes / (double)figures.bytes);
        else
            draw_cell(svg, x, y, width, GREY,
                      (double)figures.resident_bytes / (double)figures.bytes);
    }
}

static void draw_addresses(struct svg *svg, const struct ram_map *map,
                           const struct map_region *region, double y)
{
    const double end = LEFT + (double)region->n_chunks * chunk_width(map);
    const uint64_t bytes = region->n_pages * BASE_PAGE_BYTES;
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
    char size[32];
    char text[128];

    snprintf(text, sizeof(text), "%s%s%s, %s", region->dimm ? "DIMM " : "",
             *region->block ? region->block : "guest RAM",
             region->gpa == GPA_NONE     ? ""
             : region->gpa >= 4ULL << 30 ? ", above 4 GiB"
                                         : ", below 4 GiB",
             show_bytes(size, sizeof(size), region->n_pages * BASE_PAGE_BYTES));
    svg_label(svg, LEFT, y + 14, "start", 12, text);
    for (size_t row = 0; row < rows_of(map); row++) {
        const double at = y + 20 + (double)row * ROW;

        if (row < map->n_windows)
            show_seconds(text, sizeof(text), drawing->record->windows[row].window_s);
        else
            snprintf(text, sizeof(text), "resident");
        svg_label(svg, LEFT - 8, at + 12, "end", 12, text);
        draw_row(svg, map, region, row, at);
    }
    draw_addresses(svg, map, region, y + 20 + (double)rows_of(map) * ROW + 12);
}

static void draw(struct svg *svg, const void *context)
{
    const struct drawing *drawing = context;
    const struct ram_map *map = drawing->map;
    char name[300];
    char text[400];

    sample_name(name, sizeof(name), drawing->record);
    svg_rectangle(svg, 0, 0, WIDTH, height_of(map), "#ffffff");
    snprintf(text, sizeof(text), "%s: where its memory was touched, within each window", name);
    svg_label(svg, LEFT, 24, "start", 16, text);
    sample_subtitle(text, sizeof(text), drawing->record);
    svg_label(svg, LEFT, 44, "start", 12, text);
    for (size_t r = 0; r < map->n_regions; r++)
        draw_region(svg, drawing, &map->regions[r],
                    TOP + (double)r * (REGION + ROW * (double)rows_of(map)));
}

int ram_map_svg_write(const struct ram_map *map, const struct sample_record *record,
                      const char *path, struct error *error)
{
    const struct drawing drawing = {map, record};
    const struct svg_picture picture = {WIDTH, height_of(map), draw, &drawing};

    return svg_write(&picture, path, error);
}
