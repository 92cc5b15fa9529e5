// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file lru_gen.h  MGLRU's generations of one control group: one bounded parser, and the order to
 * age it.
 *
 * The youngest generation of each node has the largest number. Ageing walks the page tables of all
 * processes of the group, moves the pages whose accessed bit was set to the youngest generation,
 * and begins a new, empty one; at most four are kept: where there were four already, the oldest is
 * merged into the next.
 *
 * Source: Documentation/admin-guide/mm/multigen_lru.rst; mm/vmscan.c lru_gen_seq_show(),
 * lru_gen_seq_write(), walk_mm().
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#define LRU_GEN_MAX_NODES 64
#define LRU_GEN_KEPT \
    4 /* MAX_NR_GENS: of the oldest of so many one cannot tell what was merged into it */
#define LRU_GEN_MAX 8 /* so many are understood */

struct lru_generation {
    uint64_t number;
    uint64_t age_ms;
    uint64_t anon_pages; /* shared memory, too */
    uint64_t file_pages;
};

struct lru_gen_node {
    unsigned id;
    unsigned n;                                     /* generations, at least 1 */
    struct lru_generation generations[LRU_GEN_MAX]; /* ascending */
    uint64_t leaves; /* of lru_gen_full: entries of page tables at which walks have looked; see
                        lru_gen_walked() */
    bool has_leaves;
    bool
        leaves_sum; /* over all walks since boot; else in that which made the youngest generation */
};

struct lru_gen {
    uint64_t memcg_id;
    unsigned n_nodes;
    struct lru_gen_node nodes[LRU_GEN_MAX_NODES];
};

/** What `enabled` says. */
enum lru_gen_enabled {
    LRU_GEN_ON = 1 << 0,
    LRU_GEN_WALKS = 1 << 1, /* page tables, for the hardware sets accessed bits in them */
};

/** enum lru_gen_enabled, or-ed; 0 also where the kernel has no MGLRU. */
unsigned lru_gen_enabled(const struct fsroot *root);

/**
 * Finds the group @p path ("/machine.slice/...") in @p text, the whole of lru_gen or lru_gen_full.
 * @return 0; -ENOENT it has no entry; -EBADMSG its entry cannot be understood
 */
int lru_gen_parse(const char *text, const char *path, struct lru_gen *out);

/** Reads lru_gen or, for @p leaves, lru_gen_full, which is ten times as long, if there is one. As
 * above; -ENOENT as well without debugfs; @p error names the object and the remedy. */
int lru_gen_read(const struct fsroot *root, const char *path, bool leaves, struct lru_gen *out,
                 struct error *error);

/** The generation that was begun last. */
static inline const struct lru_generation *lru_gen_youngest(const struct lru_gen_node *node)
{
    return &node->generations[node->n - 1];
}

/**
 * Begins a new generation on one node, after a walk of all page tables that heeds neither swap nor
 * heuristics. Without effect, and still 0, where another walk is under way: the youngest generation
 * tells.
 * @return 0 or a negative errno: -EPERM also where the kernel is locked down
 */
int lru_gen_age(const struct fsroot *root, uint64_t memcg_id, const struct lru_gen_node *node);

/** The entries of page tables at which the last walk looked, which @p after was read right after;
 * UINT64_MAX: unknown. */
uint64_t lru_gen_walked(const struct lru_gen_node *before, const struct lru_gen_node *after);
