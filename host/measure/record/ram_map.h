// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file ram_map.h  Where in guest RAM the working set is: one measurement, by guest-physical
 * addresses.
 *
 * Guest RAM is cut into regions, each of them contiguous in one RAM block and in guest-physical
 * space, and each region into chunks of equal size. A census knows every page of a chunk; of a
 * panel a chunk has what was drawn in it, and an interval. Pure, but for the memory of the map.
 */
#pragma once

#include "guest/ram/gpa.h"
#include "measure/page_set.h"

#define RAM_MAP_MAX_CHUNKS (1U << 20)
#define RAM_MAP_MAX_NODES 129 /* 128 of QEMU's (MAX_NODES), and what is of none */

/* Base pages. */
struct map_chunk {
    uint64_t n_pages;
    uint64_t drawn;   /* of them looked at: all in a census */
    uint64_t units;   /* distinct observations among them: a huge page is one */
    uint64_t present; /* as of the last window, as what follows */
    uint64_t unmeasurable, swapped, huge;
};

struct map_region {
    char block[64]; /* the id of the memory backend; "": it has none */
    bool dimm;
    int node;     /* of the guest's NUMA nodes; -1: it has none, or which is not known */
    uint64_t gpa; /* of its first byte; GPA_NONE: not known, as of a DIMM */
    uint64_t first_page, n_pages;
    size_t first_chunk, n_chunks;
    uint64_t units; /* observations in all of it: a huge page is one here, but one in each of the
                       chunks that it reaches into */
};

struct ram_map {
    uint64_t chunk_bytes;
    size_t n_windows;
    size_t n_regions;
    struct map_region *regions; /* by page number */
    size_t n_chunks;
    struct map_chunk *chunks;
    uint64_t *touched; /* of chunk c within window w: touched[c * n_windows + w] */
};

/**
 * @param layout       NULL: addresses are not known
 * @param chunk_bytes  a multiple of the base page; the last chunk of a region may be smaller
 * @return 0; free with ram_map_free(). -E2BIG: more than RAM_MAP_MAX_CHUNKS; -ENOMEM
 */
int ram_map_make(struct ram_map *map, const struct guest_ram *ram, const struct gpa_layout *layout,
                 uint64_t chunk_bytes, size_t n_windows);
void ram_map_free(struct ram_map *map);

/** The smallest power of two, at least 64 KiB, that makes at most @p max chunks. */
uint64_t ram_map_chunk_bytes(const struct guest_ram *ram, const struct gpa_layout *layout,
                             size_t max);

/** Counts the states of the pages when window number @p window has been read; windows in their
 * order, for what is not touched is as of the last. @p set is of the RAM that the map is of. */
void ram_map_count(struct ram_map *map, const struct page_set *set, size_t window);

/** Bytes of a chunk, of a panel estimates. */
struct map_figures {
    bool known; /* false: no page of it was drawn */
    uint64_t bytes, resident_bytes, unmeasurable_bytes, swapped_bytes, huge_bytes;
};

/** Within a window: what was touched and is resident, and the 95 % interval plus what was
 * unmeasurable; exact where all pages of the chunk were looked at. */
struct map_touched {
    uint64_t bytes, low_bytes, high_bytes;
};

/** Every page was looked at, by a census or a panel of as many: no figure is an estimate. */
bool ram_map_is_complete(const struct ram_map *map);

/** How many chunks the region with the most has: a picture's width. At least 1. */
size_t ram_map_longest(const struct ram_map *map);

struct map_figures ram_map_figures(const struct ram_map *map, size_t chunk);
struct map_touched ram_map_touched(const struct ram_map *map, size_t chunk, size_t window);

/** The guest's NUMA nodes that have memory, ascending, and behind them -1 for what is of none that
 * is known, as DIMMs that were plugged since the guest began. @return how many; 0: the guest has no
 * nodes. */
size_t ram_map_nodes(const struct ram_map *map, int nodes[RAM_MAP_MAX_NODES]);

/** All that is of a node, as of a chunk. Draws are spread over all of the RAM alike, so that those
 * in a node are a random sample of it, and its interval is much narrower than its chunks' together.
 */
struct map_figures ram_map_node_figures(const struct ram_map *map, int node);
struct map_touched ram_map_node_touched(const struct ram_map *map, int node, size_t window);
