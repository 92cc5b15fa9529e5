// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file ram_map.h  Locates the working set in guest RAM: one measurement, by guest-physical
 * addresses.
 *
 * Guest RAM is cut into regions, each of them contiguous in one RAM block and in guest-physical
 * space, and each region into chunks of equal size. In a census every page of a chunk is read; in a
 * panel, a chunk has only its drawn pages, and an interval. Pure, except that it allocates the map.
 */
#pragma once

#include "guest/ram/gpa.h"
#include "measure/page_set.h"
#include "measure/record/sample_record.h"
#include "measure/write_watch.h"

#define RAM_MAP_MAX_CHUNKS (1U << 20)
#define RAM_MAP_MAX_NODES 129 /* QEMU's 128 nodes (MAX_NODES), and one for no node */

/* Counts are in base pages. */
struct map_chunk {
    uint64_t n_pages;
    uint64_t drawn;   /* pages read: all in a census */
    uint64_t units;   /* distinct observations among them: draws in one huge page are one */
    uint64_t present; /* as of the last window, like the following members */
    uint64_t unmeasurable, swapped, huge;
};

struct map_region {
    char block[64]; /* the id of the memory backend; "": no id */
    bool dimm;
    int node;     /* the guest's NUMA node; -1: no nodes, or not known */
    uint64_t gpa; /* GPA of its first byte; GPA_NONE: not known, for example for a DIMM */
    uint64_t first_page, n_pages;
    size_t first_chunk, n_chunks;
    /* number of observations possible in the region. A huge page is one here, but one in each chunk
     * that it overlaps */
    uint64_t units;
};

/* Touched pages of a chunk within a window by what is known of writes; those left were written. */
struct map_unwritten {
    uint64_t none;    /* not written within the window */
    uint64_t unknown; /* may have been written */
};

struct ram_map {
    uint64_t chunk_bytes;
    size_t n_windows;
    size_t n_regions;
    struct map_region *regions; /* sorted by page number */
    size_t n_chunks;
    struct map_chunk *chunks;
    uint64_t *touched; /* touched pages of chunk c within window w: touched[c * n_windows + w] */
    struct map_unwritten *unwritten; /* in the same order; NULL: not measured */
    uint64_t missed_bytes;           /* further bytes that may have been written */
};

/**
 * @param layout       NULL: addresses are not known
 * @param chunk_bytes  a multiple of the base page; the last chunk of a region may be smaller
 * @return 0; free with ram_map_free(). -E2BIG: more than RAM_MAP_MAX_CHUNKS; -ENOMEM
 */
int ram_map_make(struct ram_map *map, const struct guest_ram *ram, const struct gpa_layout *layout,
                 uint64_t chunk_bytes, size_t n_windows);
void ram_map_free(struct ram_map *map);

/** The smallest chunk size for at most @p max chunks: a power of two, at least 64 KiB. */
uint64_t ram_map_chunk_bytes(const struct guest_ram *ram, const struct gpa_layout *layout,
                             size_t max);

/** Counts the states of the pages after window number @p window was read. Call it for the windows
 * in order, because the counts other than touched are those of the last one. @p set belongs to the
 * same RAM as the map. */
void ram_map_count(struct ram_map *map, const struct page_set *set, size_t window);

/** Counts which of the touched pages were written within the window: after ram_map_count() for the
 * same window. Returns 0 or -ENOMEM. */
int ram_map_count_writes(struct ram_map *map, const struct page_set *set,
                         const struct write_watch *writes, size_t window);

/** Bytes of a chunk; estimates for a panel. */
struct map_figures {
    bool known; /* false: no page of the chunk was drawn */
    uint64_t bytes, resident_bytes, unmeasurable_bytes, swapped_bytes, huge_bytes;
};

/** Figures within a window: touched memory that is resident, and the 95 % interval plus
 * unmeasurable memory; exact if all pages of the chunk were read */
struct map_touched {
    uint64_t bytes, low_bytes, high_bytes;
};

/** Returns true if every page was read, in a census or in a panel of all pages, so that no figure
 * is an estimate. */
bool ram_map_is_complete(const struct ram_map *map);

/** The number of chunks in the largest region, at least 1; it is the width of a picture. */
size_t ram_map_longest(const struct ram_map *map);

struct map_figures ram_map_figures(const struct ram_map *map, size_t chunk);
struct map_touched ram_map_touched(const struct ram_map *map, size_t chunk, size_t window);

/** The guest's NUMA nodes that have memory, ascending, then -1 if there is memory of no known node,
 * such as DIMMs plugged after the guest began. @return their number; 0: the guest has no nodes. */
size_t ram_map_nodes(const struct ram_map *map, int nodes[RAM_MAP_MAX_NODES]);

/** Figures of a whole node, as for a chunk. The draws in a node are a random sample of the node, so
 * its interval is much narrower than the sum of its chunks' intervals. */
struct map_figures ram_map_node_figures(const struct ram_map *map, int node);
struct map_touched ram_map_node_touched(const struct ram_map *map, int node, size_t window);

/** Figures of a whole region, as for a node. */
struct map_touched ram_map_region_touched(const struct ram_map *map,
                                          const struct map_region *region, size_t window);

/** The read-mostly part of a region's working set: touched within the window, and not written. Only
 * if writes were measured. @p record: of the same measurement. */
struct map_touched ram_map_region_read_mostly(const struct ram_map *map,
                                              const struct map_region *region,
                                              const struct sample_record *record, size_t window);
