// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/record/ram_map_private.h"

#include "base/bytes.h"
#include "base/wilson.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_MIN_BYTES (64ULL << 10)

/* --- regions ---------------------------------------------------------------------------------- */

/* The number of pages, from @p page of the block, that are contiguous in guest-physical space. */
static uint64_t run_of(const struct guest_ram *ram, const struct gpa_layout *layout,
                       const struct ram_block *block, uint64_t page)
{
    uint64_t rest = block->first_page + base_pages(block->bytes) - page;
    uint64_t gpa = layout ? gpa_of_page(layout, ram, page) : GPA_NONE;

    if (gpa == GPA_NONE || gpa - layout->low_begin >= layout->low_bytes)
        return rest;
    return smaller(rest, base_pages(layout->low_bytes - (gpa - layout->low_begin)));
}

/* If @p regions is NULL, it only counts. */
static size_t cut_regions(const struct guest_ram *ram, const struct gpa_layout *layout,
                          struct map_region *regions)
{
    size_t n = 0;

    for (size_t b = 0; b < ram->n_blocks; b++) {
        const struct ram_block *block = &ram->blocks[b];
        const uint64_t end = block->first_page + base_pages(block->bytes);

        for (uint64_t page = block->first_page, run; page < end; page += run, n++) {
            run = run_of(ram, layout, block, page);
            if (!regions)
                continue;
            regions[n] = (struct map_region){
                .dimm = block->dimm,
                .node = (int)block->node - 1,
                .gpa = layout ? gpa_of_page(layout, ram, page) : GPA_NONE,
                .first_page = page,
                .n_pages = run,
            };
            memcpy(regions[n].block, block->id, sizeof(regions[n].block));
        }
    }
    return n;
}

static size_t chunks_of(uint64_t pages, uint64_t chunk_bytes)
{
    uint64_t chunk_pages = base_pages(chunk_bytes);

    return (size_t)((pages + chunk_pages - 1) / chunk_pages);
}

/* --- making ----------------------------------------------------------------------------------- */

static void lay_chunks(struct ram_map *map)
{
    const uint64_t chunk_pages = base_pages(map->chunk_bytes);

    for (size_t r = 0; r < map->n_regions; r++) {
        const struct map_region *region = &map->regions[r];

        for (size_t c = 0; c < region->n_chunks; c++)
            map->chunks[region->first_chunk + c].n_pages = smaller(
                chunk_pages, region->n_pages - c * chunk_pages);
    }
}

int ram_map_make(struct ram_map *map, const struct guest_ram *ram, const struct gpa_layout *layout,
                 uint64_t chunk_bytes, size_t n_windows)
{
    uint64_t n = 0;

    *map = (struct ram_map){.chunk_bytes = chunk_bytes, .n_windows = n_windows};
    map->n_regions = cut_regions(ram, layout, NULL);
    map->regions = calloc(map->n_regions, sizeof(*map->regions));
    if (!map->regions)
        return -ENOMEM;
    cut_regions(ram, layout, map->regions);
    for (size_t r = 0; r < map->n_regions; r++) {
        map->regions[r].first_chunk = n;
        map->regions[r].n_chunks = chunks_of(map->regions[r].n_pages, chunk_bytes);
        n += map->regions[r].n_chunks;
    }
    map->n_chunks = n;
    if (n > RAM_MAP_MAX_CHUNKS) {
        ram_map_free(map);
        return -E2BIG;
    }
    map->chunks = calloc(n, sizeof(*map->chunks));
    map->touched = calloc(n * n_windows, sizeof(*map->touched));
    if (!map->chunks || !map->touched) {
        ram_map_free(map);
        return -ENOMEM;
    }
    lay_chunks(map);
    return 0;
}

void ram_map_free(struct ram_map *map)
{
    free(map->regions);
    free(map->chunks);
    free(map->touched);
    free(map->unwritten);
    *map = (struct ram_map){0};
}

uint64_t ram_map_chunk_bytes(const struct guest_ram *ram, const struct gpa_layout *layout,
                             size_t max)
{
    const size_t regions = cut_regions(ram, layout, NULL);
    uint64_t bytes = CHUNK_MIN_BYTES;

    /* each region may have one partial chunk */
    while (ram->bytes / bytes + regions > max && bytes < ram->bytes)
        bytes *= 2;
    return bytes;
}

/* --- counting --------------------------------------------------------------------------------- */

static void count_present(struct map_chunk *chunk, const struct page_set *set, uint64_t i)
{
    enum page_state state = set->state[i];

    chunk->swapped += page_is_swapped(state);
    if (page_is_missing(state))
        return;
    chunk->present++;
    chunk->unmeasurable += state == PAGE_UNMEASURABLE;
    chunk->huge += set->order[i] >= huge_page_order();
}

/* Draws in one huge page are one observation. @p last: the unit of the previous draw. */
static bool is_new_unit(const struct page_set *set, uint64_t i, uint64_t *last)
{
    bool seen = set->unit && set->order[i] > 0 && set->unit[i] == *last;

    *last = set->unit && set->order[i] > 0 ? set->unit[i] : UINT64_MAX;
    return !seen;
}

static void forget_counts(struct ram_map *map)
{
    for (size_t c = 0; c < map->n_chunks; c++)
        map->chunks[c] = (struct map_chunk){.n_pages = map->chunks[c].n_pages};
    for (size_t r = 0; r < map->n_regions; r++)
        map->regions[r].units = 0;
}

void ram_map_count(struct ram_map *map, const struct page_set *set, size_t window)
{
    const uint64_t chunk_pages = base_pages(map->chunk_bytes);
    /* a huge page that overlaps two chunks is one observation in each */
    uint64_t last = UINT64_MAX;
    uint64_t last_of_region = UINT64_MAX;
    size_t before = SIZE_MAX;
    size_t r = 0;

    forget_counts(map);
    for (uint64_t i = 0; i < set->n; i++) {
        uint64_t page = page_set_page(set, i);

        while (page >= map->regions[r].first_page + map->regions[r].n_pages) {
            last_of_region = UINT64_MAX;
            r++;
        }

        struct map_region *region = &map->regions[r];
        size_t c = region->first_chunk + (size_t)((page - region->first_page) / chunk_pages);

        if (c != before)
            last = UINT64_MAX;
        before = c;
        map->chunks[c].drawn++;
        map->chunks[c].units += is_new_unit(set, i, &last);
        region->units += is_new_unit(set, i, &last_of_region);
        map->touched[c * map->n_windows + window] += set->state[i] == PAGE_TOUCHED;
        count_present(&map->chunks[c], set, i);
    }
}

/* --- figures ---------------------------------------------------------------------------------- */

/* The memory that @p pages of the drawn pages represent. */
static uint64_t stands_for(const struct map_chunk *chunk, uint64_t pages)
{
    const double bytes = (double)(chunk->n_pages * base_page_bytes());

    return chunk->drawn ? (uint64_t)llround(bytes * (double)pages / (double)chunk->drawn) : 0;
}

bool ram_map_is_complete(const struct ram_map *map)
{
    for (size_t c = 0; c < map->n_chunks; c++)
        if (map->chunks[c].drawn < map->chunks[c].n_pages)
            return false;
    return true;
}

static struct map_figures figures_of(const struct map_chunk *counted)
{
    return (struct map_figures){
        .known = counted->drawn > 0,
        .bytes = counted->n_pages * base_page_bytes(),
        .resident_bytes = stands_for(counted, counted->present),
        .unmeasurable_bytes = stands_for(counted, counted->unmeasurable),
        .swapped_bytes = stands_for(counted, counted->swapped),
        .huge_bytes = stands_for(counted, counted->huge),
    };
}

/* Figures for @p pages touched pages. */
struct map_touched ram_map_touched_of(const struct map_chunk *counted, uint64_t pages)
{
    const double bytes = (double)(counted->n_pages * base_page_bytes());
    const uint64_t unmeasurable = stands_for(counted, counted->unmeasurable);
    const uint64_t touched = stands_for(counted, pages);
    struct interval share = {0, 1};

    if (counted->drawn == counted->n_pages)
        return (struct map_touched){touched, touched, touched + unmeasurable};
    if (counted->drawn > 0) {
        double n = finite_population_n((double)counted->units, (double)counted->n_pages);

        share = wilson_interval((double)pages / (double)counted->drawn * n, n, Z_95);
    }
    return (struct map_touched){
        .bytes = touched,
        .low_bytes = (uint64_t)(bytes * share.low),
        .high_bytes = (uint64_t)fmin(bytes, ceil(bytes * share.high) + (double)unmeasurable),
    };
}

size_t ram_map_longest(const struct ram_map *map)
{
    size_t most = 1;

    for (size_t r = 0; r < map->n_regions; r++)
        most = map->regions[r].n_chunks > most ? map->regions[r].n_chunks : most;
    return most;
}

struct map_figures ram_map_figures(const struct ram_map *map, size_t chunk)
{
    return figures_of(&map->chunks[chunk]);
}

struct map_touched ram_map_touched(const struct ram_map *map, size_t chunk, size_t window)
{
    return ram_map_touched_of(&map->chunks[chunk], map->touched[chunk * map->n_windows + window]);
}

/* --- nodes ------------------------------------------------------------------------------------ */

static bool has_node(const struct ram_map *map, int node)
{
    for (size_t r = 0; r < map->n_regions; r++)
        if (map->regions[r].node == node)
            return true;
    return false;
}

size_t ram_map_nodes(const struct ram_map *map, int nodes[RAM_MAP_MAX_NODES])
{
    size_t n = 0;

    for (int node = 0; node < RAM_MAP_MAX_NODES - 1; node++)
        if (has_node(map, node))
            nodes[n++] = node;
    if (n > 0 && has_node(map, -1))
        nodes[n++] = -1;
    return n;
}

void ram_map_add_chunk(struct map_chunk *sum, const struct map_chunk *chunk)
{
    sum->n_pages += chunk->n_pages;
    sum->drawn += chunk->drawn;
    sum->present += chunk->present;
    sum->unmeasurable += chunk->unmeasurable;
    sum->swapped += chunk->swapped;
    sum->huge += chunk->huge;
}

/* Sums up all chunks of the node; touched pages are those within @p window. */
static struct map_chunk node_counts(const struct ram_map *map, int node, size_t window,
                                    uint64_t *touched)
{
    struct map_chunk sum = {0};

    *touched = 0;
    for (size_t r = 0; r < map->n_regions; r++) {
        const struct map_region *region = &map->regions[r];

        if (region->node != node)
            continue;
        sum.units += region->units;
        for (size_t c = region->first_chunk; c < region->first_chunk + region->n_chunks; c++) {
            ram_map_add_chunk(&sum, &map->chunks[c]);
            *touched += map->touched[c * map->n_windows + window];
        }
    }
    return sum;
}

struct map_figures ram_map_node_figures(const struct ram_map *map, int node)
{
    uint64_t touched;
    const struct map_chunk counted = node_counts(map, node, 0, &touched);

    return figures_of(&counted);
}

struct map_touched ram_map_node_touched(const struct ram_map *map, int node, size_t window)
{
    uint64_t touched;
    const struct map_chunk counted = node_counts(map, node, window, &touched);

    return ram_map_touched_of(&counted, touched);
}
