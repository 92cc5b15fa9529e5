// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ram_map_writes.c  The part of a region's working set that is not written; see ram_map.h.
 */
#include "measure/record/ram_map_private.h"

#include "base/bytes.h"

#include <errno.h>
#include <stdlib.h>

/* --- counting --------------------------------------------------------------------------------- */

int ram_map_count_writes(struct ram_map *map, const struct page_set *set,
                         const struct write_watch *writes, size_t window)
{
    const uint64_t chunk_pages = base_pages(map->chunk_bytes);
    size_t r = 0;

    if (!map->unwritten)
        map->unwritten = calloc(map->n_chunks * map->n_windows, sizeof(*map->unwritten));
    if (!map->unwritten)
        return -ENOMEM;
    map->missed_bytes = write_watch_missed_bytes(writes);
    for (uint64_t i = 0; i < set->n; i++) {
        const uint64_t page = page_set_page(set, i);

        while (page >= map->regions[r].first_page + map->regions[r].n_pages)
            r++;
        if (set->state[i] != PAGE_TOUCHED)
            continue;

        const struct map_region *region = &map->regions[r];
        const size_t c = region->first_chunk + (size_t)((page - region->first_page) / chunk_pages);
        struct map_unwritten *unwritten = &map->unwritten[c * map->n_windows + window];
        const enum write_seen seen = write_watch_page(writes, page);

        unwritten->none += seen == WRITE_NONE;
        unwritten->unknown += seen == WRITE_UNKNOWN;
    }
    return 0;
}

/* --- figures ---------------------------------------------------------------------------------- */

struct map_touched ram_map_region_touched(const struct ram_map *map,
                                          const struct map_region *region, size_t window)
{
    struct map_chunk sum = {.units = region->units};
    uint64_t touched = 0;

    for (size_t c = region->first_chunk; c < region->first_chunk + region->n_chunks; c++) {
        ram_map_add_chunk(&sum, &map->chunks[c]);
        touched += map->touched[c * map->n_windows + window];
    }
    return ram_map_touched_of(&sum, touched);
}

/* The record's bounds know of doubts such as ageing: the bytes by which they are wider than the
 * map's may be in any region. */
static void widen(struct map_touched *bounds, const struct ram_map *map,
                  const struct sample_record *record, size_t window)
{
    const struct window_record *whole = &record->windows[window];
    uint64_t low = 0, high = 0;

    for (size_t r = 0; r < map->n_regions; r++) {
        const struct map_touched of = ram_map_region_touched(map, &map->regions[r], window);

        low += of.low_bytes;
        high += of.high_bytes;
    }
    bounds->low_bytes = less(bounds->low_bytes, less(low, whole->wss_low_bytes));
    bounds->high_bytes += less(whole->wss_high_bytes, high);
}

struct map_touched ram_map_region_read_mostly(const struct ram_map *map,
                                              const struct map_region *region,
                                              const struct sample_record *record, size_t window)
{
    struct map_chunk sum = {.units = region->units};
    uint64_t none = 0, unknown = 0;

    for (size_t c = region->first_chunk; c < region->first_chunk + region->n_chunks; c++) {
        const struct map_unwritten *unwritten = &map->unwritten[c * map->n_windows + window];

        ram_map_add_chunk(&sum, &map->chunks[c]);
        none += unwritten->none;
        unknown += unwritten->unknown;
    }

    const struct map_touched least = ram_map_touched_of(&sum, none);
    const struct map_touched most = ram_map_touched_of(&sum, none + unknown);
    struct map_touched bounds = {
        .bytes = least.bytes,
        .low_bytes = less(least.low_bytes, map->missed_bytes),
        .high_bytes = most.high_bytes,
    };

    widen(&bounds, map, record, window);
    bounds.high_bytes = smaller(bounds.high_bytes, region->n_pages * base_page_bytes());
    return bounds;
}
