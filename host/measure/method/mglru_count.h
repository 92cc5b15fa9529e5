// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file mglru_count.h  From generations to what a guest touched: the bookkeeping of `mglru`. Pure
 * functions. */
#pragma once

#include "measure/kernel/lru_gen.h"
#include "measure/kernel/ram_smaps.h"
#include "measure/tally.h"

/** What the generations say of a window. In pages of the group's anonymous and shared memory, over
 * all nodes. */
struct mglru_figure {
    uint64_t
        touched_pages; /* in generations that were begun since the window was, but the youngest */
    uint64_t
        merged_pages; /* of these at most, of older generations that ageing by others put there */
    uint64_t listed_pages; /* in any generation */
    uint64_t foreign;      /* generations begun by others meanwhile */
};

/**
 * @param marked  as of when the window began: its youngest generations were begun then
 * @param aged    how many generations we have begun since, of each node of @p marked
 * @return 0; -ESTALE a node has come or gone, or numbers fell: the group is another one
 */
int mglru_figure(const struct lru_gen *marked, const struct lru_gen *now, const unsigned *aged,
                 struct mglru_figure *out);

/** What else may have put pages into the window's generations, or is in the group. */
struct mglru_beside {
    uint64_t scanned_pages;    /* by reclaim, in this group */
    bool scans_unknown;        /* control groups of version 1 do not count them */
    uint64_t moved_pages;      /* by migration and compaction, anywhere on the host */
    uint64_t collapses;        /* huge pages made of small ones, anywhere on the host */
    uint64_t others_bytes;     /* anonymous and shared memory of other processes in the group */
    uint64_t unmapped_bytes;   /* of guest RAM in shared files: resident, but not mapped */
    uint64_t own_before_bytes; /* of QEMU's own memory, called referenced when the window began */
};

/** Fills the tally of a census. @p sums: read just before the last ageing. */
void mglru_tally(const struct mglru_figure *figure, const struct ram_smaps *sums,
                 const struct mglru_beside *beside, struct tally *tally);
