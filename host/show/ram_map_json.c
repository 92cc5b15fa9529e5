// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ram_map_json.c  A map for scripts: JSON and CSV; see ram_map.h. */
#include "show/ram_map.h"

#include "base/text/csv.h"
#include "base/text/json.h"
#include "base/text/units.h"
#include "show/sample_json.h"

static json_t *bytes_json(uint64_t bytes)
{
    return json_integer((json_int_t)bytes);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static json_t *touched_json(struct map_touched touched)
{
    json_t *object = json_object();

    json_object_set_new(object, "wss_bytes", bytes_json(touched.bytes));
    json_object_set_new(object, "wss_low_bytes", bytes_json(touched.low_bytes));
    json_object_set_new(object, "wss_high_bytes", bytes_json(touched.high_bytes));
    return object;
}

static void set_figures(json_t *object, const struct map_figures *figures)
{
    json_object_set_new(object, "resident_bytes", bytes_json(figures->resident_bytes));
    json_object_set_new(object, "unmeasurable_bytes", bytes_json(figures->unmeasurable_bytes));
    json_object_set_new(object, "swapped_bytes", bytes_json(figures->swapped_bytes));
    json_object_set_new(object, "huge_bytes", bytes_json(figures->huge_bytes));
}

static json_t *chunk_json(const struct ram_map *map, const struct map_region *region, size_t i)
{
    const size_t chunk = region->first_chunk + i;
    const struct map_figures figures = ram_map_figures(map, chunk);
    json_t *object = json_object();
    json_t *windows = json_array();

    for (size_t w = 0; w < map->n_windows; w++)
        json_array_append_new(windows, touched_json(ram_map_touched(map, chunk, w)));
    json_object_set_new(object, "gpa",
                        region->gpa == GPA_NONE ? json_null()
                                                : bytes_json(region->gpa + i * map->chunk_bytes));
    json_object_set_new(object, "offset", bytes_json(i * map->chunk_bytes));
    json_object_set_new(object, "bytes", bytes_json(figures.bytes));
    json_object_set_new(object, "pages", bytes_json(map->chunks[chunk].drawn));
    set_figures(object, &figures);
    json_object_set_new(object, "windows", windows);
    return object;
}

static json_t *node_number(int node)
{
    return node < 0 ? json_null() : json_integer(node);
}

static json_t *node_json(const struct ram_map *map, int node)
{
    const struct map_figures figures = ram_map_node_figures(map, node);
    json_t *object = json_object();
    json_t *windows = json_array();

    for (size_t w = 0; w < map->n_windows; w++)
        json_array_append_new(windows, touched_json(ram_map_node_touched(map, node, w)));
    json_object_set_new(object, "node", node_number(node));
    json_object_set_new(object, "bytes", bytes_json(figures.bytes));
    set_figures(object, &figures);
    json_object_set_new(object, "windows", windows);
    return object;
}

static json_t *nodes_json(const struct ram_map *map)
{
    int nodes[RAM_MAP_MAX_NODES];
    const size_t n = ram_map_nodes(map, nodes);
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(array, node_json(map, nodes[i]));
    return array;
}

static json_t *region_json(const struct ram_map *map, const struct map_region *region)
{
    json_t *object = json_object();
    json_t *chunks = json_array();

    for (size_t c = 0; c < region->n_chunks; c++)
        json_array_append_new(chunks, chunk_json(map, region, c));
    json_object_set_new(object, "block", json_text(region->block));
    json_object_set_new(object, "dimm", json_boolean(region->dimm));
    json_object_set_new(object, "node", node_number(region->node));
    json_object_set_new(object, "gpa",
                        region->gpa == GPA_NONE ? json_null() : bytes_json(region->gpa));
    json_object_set_new(object, "bytes", bytes_json(region->n_pages * base_page_bytes()));
    json_object_set_new(object, "chunks", chunks);
    return object;
}

int ram_map_json_print(const struct ram_map *map, const struct sample_record *record)
{
    json_t *object = sample_json(record, "vmwss.map.v1");
    json_t *regions = json_array();

    for (size_t r = 0; r < map->n_regions; r++)
        json_array_append_new(regions, region_json(map, &map->regions[r]));
    json_object_set_new(object, "chunk_bytes", bytes_json(map->chunk_bytes));
    json_object_set_new(object, "regions", regions);
    json_object_set_new(object, "nodes", nodes_json(map));
    return json_print_line(object);
}

/* --- CSV -------------------------------------------------------------------------------------- */

static void csv_time(struct csv *csv, const struct sample_record *record)
{
    char time[32];

    csv_text(csv, show_time(time, sizeof(time),
                            (double)record->time.tv_sec + (double)record->time.tv_nsec / 1e9, 3));
}

static void csv_flags(struct csv *csv, const struct sample_record *record)
{
    char flags[SAMPLE_FLAGS_TEXT];

    sample_flags_text(flags, sizeof(flags), record->flags);
    csv_text(csv, flags);
}

static void csv_chunk(const struct ram_map *map, const struct map_region *region, size_t i,
                      size_t window, const struct sample_record *record, bool timed)
{
    const size_t chunk = region->first_chunk + i;
    const struct map_figures figures = ram_map_figures(map, chunk);
    const struct map_touched touched = ram_map_touched(map, chunk, window);
    struct csv csv = {0};

    if (timed)
        csv_time(&csv, record);
    csv_text(&csv, region->block);
    csv_whole(&csv, region->dimm);
    if (region->node < 0)
        csv_nothing(&csv);
    else
        csv_whole(&csv, (uint64_t)region->node);
    if (region->gpa == GPA_NONE)
        csv_nothing(&csv);
    else
        csv_whole(&csv, region->gpa + i * map->chunk_bytes);
    csv_whole(&csv, i * map->chunk_bytes);
    csv_whole(&csv, figures.bytes);
    csv_whole(&csv, map->chunks[chunk].drawn);
    csv_whole(&csv, figures.resident_bytes);
    csv_whole(&csv, figures.unmeasurable_bytes);
    csv_whole(&csv, figures.swapped_bytes);
    csv_whole(&csv, figures.huge_bytes);
    csv_number(&csv, record->windows[window].window_s);
    csv_whole(&csv, touched.bytes);
    csv_whole(&csv, touched.low_bytes);
    csv_whole(&csv, touched.high_bytes);
    if (timed)
        csv_flags(&csv, record);
    csv_end(&csv);
}

static void csv_print(const struct ram_map *map, const struct sample_record *record, bool timed)
{
    for (size_t r = 0; r < map->n_regions; r++)
        for (size_t c = 0; c < map->regions[r].n_chunks; c++)
            for (size_t w = 0; w < map->n_windows; w++)
                csv_chunk(map, &map->regions[r], c, w, record, timed);
}

#define COLUMNS                                                                       \
    "block", "dimm", "node", "gpa", "offset", "bytes", "pages", "resident_bytes",     \
        "unmeasurable_bytes", "swapped_bytes", "huge_bytes", "window_s", "wss_bytes", \
        "wss_low_bytes", "wss_high_bytes"
static const char *const names[] = {COLUMNS, NULL};
static const char *const period_names[] = {"time", COLUMNS, "flags", NULL};

void ram_map_csv_print(const struct ram_map *map, const struct sample_record *record)
{
    csv_heading(names);
    csv_print(map, record, false);
}

void ram_map_csv_period(const struct ram_map *map, const struct sample_record *record, bool heading)
{
    if (heading)
        csv_heading(period_names);
    csv_print(map, record, true);
}
