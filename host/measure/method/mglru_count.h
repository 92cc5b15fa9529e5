// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file mglru_count.h  Computes a guest's touched memory from generations: the bookkeeping of
 * `mglru`. Pure functions. */
#pragma once

#include "measure/kernel/lru_gen.h"
#include "measure/kernel/ram_smaps.h"
#include "measure/tally.h"

/** The generations' result for a window, in pages of the group's anonymous and shared memory, over
 * all nodes. */
struct mglru_figure {
    /* in generations that were begun since the window began, except the youngest */
    uint64_t touched_pages;
    /* the largest part of these that ageing by others moved there from older generations */
    uint64_t merged_pages;
    uint64_t listed_pages; /* in any generation */
    uint64_t foreign;      /* generations begun by others within the window */
};

/**
 * @param marked  the state when the window began: its youngest generations were begun then
 * @param aged    number of generations that this process has begun since, for each node of @p
 * marked
 * @return 0; -ESTALE a node has come or gone, or numbers fell: the group is another one
 */
int mglru_figure(const struct lru_gen *marked, const struct lru_gen *now, const unsigned *aged,
                 struct mglru_figure *out);

/** Other causes of pages in the window's generations, and other memory in the group. */
struct mglru_beside {
    uint64_t scanned_pages;  /* scanned by reclaim, in this group */
    bool scans_unknown;      /* cgroup v1 does not count them */
    uint64_t moved_pages;    /* moved by migration and compaction, anywhere on the host */
    uint64_t collapses;      /* huge pages made of small ones, anywhere on the host */
    uint64_t others_bytes;   /* anonymous and shared memory of other processes in the group */
    uint64_t unmapped_bytes; /* guest RAM in shared files: resident, but not mapped */
    /* QEMU's own memory that smaps called referenced when the window began */
    uint64_t own_before_bytes;
};

/** Fills the tally of a census. @p sums: read just before the last ageing. */
void mglru_tally(const struct mglru_figure *figure, const struct ram_smaps *sums,
                 const struct mglru_beside *beside, struct tally *tally);
