// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ram_map_fill.c  A map for programs: JSON and CSV; see ram_map.h. */
#include "show/ram_map.h"

#include "base/clock.h"
#include "base/text/units.h"
#include "show/sample_json.h"

#include <math.h>
#include <stdio.h>

void map_region_fill(struct sheet *sheet, const struct map_region *region)
{
    sheet_text(sheet, "block", region->block);
    sheet_bool(sheet, "dimm", region->dimm);
    sheet_count(sheet, "node", region->node < 0 ? UINT64_MAX : (uint64_t)region->node);
}

void map_address_fill(struct sheet *sheet, const struct map_region *region, uint64_t offset)
{
    sheet_bytes(sheet, "gpa", region->gpa == GPA_NONE ? UINT64_MAX : region->gpa + offset);
}

static void fill_figures(struct sheet *sheet, const struct map_figures *figures)
{
    sheet_bytes(sheet, "resident_bytes", figures->resident_bytes);
    sheet_bytes(sheet, "unmeasurable_bytes", figures->unmeasurable_bytes);
    sheet_bytes(sheet, "swapped_bytes", figures->swapped_bytes);
    sheet_bytes(sheet, "huge_bytes", figures->huge_bytes);
}

static void fill_touched(struct sheet *sheet, struct map_touched touched)
{
    sheet_bytes(sheet, "wss_bytes", touched.bytes);
    sheet_bytes(sheet, "wss_low_bytes", touched.low_bytes);
    sheet_bytes(sheet, "wss_high_bytes", touched.high_bytes);
}

static void fill_chunk(struct sheet *sheet, const struct ram_map *map,
                       const struct map_region *region, size_t i)
{
    const size_t chunk = region->first_chunk + i;
    const struct map_figures figures = ram_map_figures(map, chunk);

    map_address_fill(sheet, region, i * map->chunk_bytes);
    sheet_bytes(sheet, "offset", i * map->chunk_bytes);
    sheet_bytes(sheet, "bytes", figures.bytes);
    sheet_count(sheet, "pages", map->chunks[chunk].drawn);
    fill_figures(sheet, &figures);
}

/* --- regions ---------------------------------------------------------------------------------- */

/* The working set of a region in each window, and its read-mostly part. */
static void fill_read_mostly(struct sheet *sheet, const struct ram_map *map,
                             const struct sample_record *record, const struct map_region *region,
                             size_t window)
{
    const struct map_touched wss = ram_map_region_touched(map, region, window);
    struct map_touched part = {UINT64_MAX, UINT64_MAX, UINT64_MAX};

    if (map->unwritten)
        part = ram_map_region_read_mostly(map, region, record, window);
    fill_touched(sheet, wss);
    sheet_bytes(sheet, "read_mostly_bytes", part.bytes);
    sheet_bytes(sheet, "read_mostly_low_bytes", part.low_bytes);
    sheet_bytes(sheet, "read_mostly_high_bytes", part.high_bytes);
    sheet_share(sheet, "read_mostly_share",
                map->unwritten && wss.bytes ? (double)part.bytes / (double)wss.bytes : NAN);
    sheet_cell(sheet, "window", "%s", SECONDS_TEXT(record->windows[window].window_s));
    if (map->unwritten)
        sheet_cell(sheet, "between", "%s to %s", BYTES_TEXT(part.low_bytes),
                   BYTES_TEXT(part.high_bytes));
}

static const struct sheet_column region_columns[] = {
    {"region", {.name = "REGION"}},
    {"window", {.name = "WINDOW", .right = true}},
    {"wss_bytes", {.name = "WSS", .right = true}},
    {"read_mostly_bytes", {.name = "READ-MOSTLY", .right = true}},
    {"between", {.name = "BETWEEN"}},
    {"read_mostly_share", {.name = "OF WSS", .right = true}},
};

int ram_map_print_read_mostly(const struct ram_map *map, const struct sample_record *record)
{
    struct sheet sheet;

    if (!map->unwritten)
        return 0;
    sheet_begin(&sheet, SHOW_TABLE, NULL, NULL);
    putchar('\n');
    sheet_list(&sheet, NULL, region_columns, COUNT(region_columns));
    for (size_t r = 0; r < map->n_regions; r++)
        for (size_t w = 0; w < map->n_windows; w++) {
            const struct map_region *region = &map->regions[r];

            sheet_row(&sheet);
            if (region->gpa == GPA_NONE)
                sheet_cell(&sheet, "region", "%zu", r + 1);
            else
                sheet_cell(&sheet, "region", "0x%llx", (unsigned long long)region->gpa);
            fill_read_mostly(&sheet, map, record, region, w);
        }
    sheet_close(&sheet);
    return sheet_end(&sheet);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void fill_region(struct sheet *sheet, const struct ram_map *map,
                        const struct sample_record *record, const struct map_region *region)
{
    sheet_row(sheet);
    map_region_fill(sheet, region);
    map_address_fill(sheet, region, 0);
    sheet_bytes(sheet, "bytes", region->n_pages * base_page_bytes());
    sheet_list(sheet, "windows", NULL, 0);
    for (size_t w = 0; w < map->n_windows; w++) {
        sheet_row(sheet);
        fill_read_mostly(sheet, map, record, region, w);
    }
    sheet_close(sheet);
    sheet_list(sheet, "chunks", NULL, 0);
    for (size_t c = 0; c < region->n_chunks; c++) {
        sheet_row(sheet);
        fill_chunk(sheet, map, region, c);
        sheet_list(sheet, "windows", NULL, 0);
        for (size_t w = 0; w < map->n_windows; w++) {
            sheet_row(sheet);
            fill_touched(sheet, ram_map_touched(map, region->first_chunk + c, w));
        }
        sheet_close(sheet);
    }
    sheet_close(sheet);
}

static void fill_node(struct sheet *sheet, const struct ram_map *map, int node)
{
    const struct map_figures figures = ram_map_node_figures(map, node);

    sheet_row(sheet);
    sheet_count(sheet, "node", node < 0 ? UINT64_MAX : (uint64_t)node);
    sheet_bytes(sheet, "bytes", figures.bytes);
    fill_figures(sheet, &figures);
    sheet_list(sheet, "windows", NULL, 0);
    for (size_t w = 0; w < map->n_windows; w++) {
        sheet_row(sheet);
        fill_touched(sheet, ram_map_node_touched(map, node, w));
    }
    sheet_close(sheet);
}

static void fill_json(struct sheet *sheet, const struct ram_map *map,
                      const struct sample_record *record)
{
    int nodes[RAM_MAP_MAX_NODES];
    const size_t n = ram_map_nodes(map, nodes);

    sheet_row(sheet);
    sample_fill(sheet, record);
    sheet_bytes(sheet, "chunk_bytes", map->chunk_bytes);
    sheet_list(sheet, "regions", NULL, 0);
    for (size_t r = 0; r < map->n_regions; r++)
        fill_region(sheet, map, record, &map->regions[r]);
    sheet_close(sheet);
    sheet_list(sheet, "nodes", NULL, 0);
    for (size_t i = 0; i < n; i++)
        fill_node(sheet, map, nodes[i]);
    sheet_close(sheet);
}

/* --- CSV -------------------------------------------------------------------------------------- */

#define COLUMNS                                                                       \
    "block", "dimm", "node", "gpa", "offset", "bytes", "pages", "resident_bytes",     \
        "unmeasurable_bytes", "swapped_bytes", "huge_bytes", "window_s", "wss_bytes", \
        "wss_low_bytes", "wss_high_bytes"
static const char *const names[] = {COLUMNS, NULL};
static const char *const period_names[] = {"time", COLUMNS, "flags", NULL};

static void fill_line(struct sheet *sheet, const struct ram_map *map,
                      const struct map_region *region, size_t i, size_t window)
{
    sheet_row(sheet);
    map_region_fill(sheet, region);
    fill_chunk(sheet, map, region, i);
    fill_touched(sheet, ram_map_touched(map, region->first_chunk + i, window));
}

static void fill_csv(struct sheet *sheet, const struct ram_map *map,
                     const struct sample_record *record)
{
    for (size_t r = 0; r < map->n_regions; r++)
        for (size_t c = 0; c < map->regions[r].n_chunks; c++)
            for (size_t w = 0; w < map->n_windows; w++) {
                fill_line(sheet, map, &map->regions[r], c, w);
                sheet_real(sheet, "window_s", record->windows[w].window_s);
                if (sheet->csv == names)
                    continue;
                sheet_time(sheet, "time", timespec_s(&record->time), 3);
                sheet_bits(sheet, "flags", record->flags, sample_flag_name);
            }
}

void ram_map_begin(struct sheet *sheet, enum show_format format, bool periods)
{
    sheet_begin(sheet, format, "vmwss.map.v1", periods ? period_names : names);
}

int ram_map_fill(struct sheet *sheet, const struct ram_map *map, const struct sample_record *record)
{
    sheet_list(sheet, NULL, NULL, 0);
    (sheet->format == SHOW_JSON ? fill_json : fill_csv)(sheet, map, record);
    sheet_close(sheet);
    return sheet->rc;
}
