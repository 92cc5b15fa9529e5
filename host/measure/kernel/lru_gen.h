// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file lru_gen.h  MGLRU's generations of one control group: a bounded parser, and the ageing
 * command.
 *
 * The youngest generation of each node has the largest number. Ageing walks the page tables of all
 * processes of the group, moves the pages whose accessed bit was set to the youngest generation,
 * and begins a new, empty one; at most four exist: if there were four already, the oldest is merged
 * into the next.
 *
 * Source: Documentation/admin-guide/mm/multigen_lru.rst; mm/vmscan.c lru_gen_seq_show(),
 * lru_gen_seq_write(), walk_mm().
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#define LRU_GEN_MAX_NODES 64
/* MAX_NR_GENS: with this many generations the oldest may include merged ones. */
#define LRU_GEN_KEPT 4
#define LRU_GEN_MAX 8 /* the number of generations that are parsed */

struct lru_generation {
    uint64_t number;
    uint64_t age_ms;
    uint64_t anon_pages; /* includes shared memory */
    uint64_t file_pages;
};

struct lru_gen_node {
    unsigned id;
    unsigned n;                                     /* generations, at least 1 */
    struct lru_generation generations[LRU_GEN_MAX]; /* ascending */
    /* from lru_gen_full: page table entries that walks have examined; see lru_gen_walked() */
    uint64_t leaves;
    bool has_leaves;
    /* true: leaves counts all walks since boot; false: only the walk that began the youngest
     * generation */
    bool leaves_sum;
};

struct lru_gen {
    uint64_t memcg_id;
    unsigned n_nodes;
    struct lru_gen_node nodes[LRU_GEN_MAX_NODES];
};

/** The bits of `enabled`. */
enum lru_gen_enabled {
    LRU_GEN_ON = 1 << 0,
    LRU_GEN_WALKS = 1 << 1, /* accessed bits are harvested by walking page tables */
};

/** The bits of enum lru_gen_enabled, or-ed; also 0 if the kernel has no MGLRU. */
unsigned lru_gen_enabled(const struct fsroot *root);

/**
 * Finds the group @p path ("/machine.slice/...") in @p text, the whole of lru_gen or lru_gen_full.
 * @return 0; -ENOENT it has no entry; -EBADMSG its entry cannot be understood
 */
int lru_gen_parse(const char *text, const char *path, struct lru_gen *out);

/** Reads lru_gen, or if @p leaves is true and it exists lru_gen_full, which is ten times as long.
 * Returns as lru_gen_parse(); -ENOENT also without debugfs; @p error names the object and the
 * remedy. */
int lru_gen_read(const struct fsroot *root, const char *path, bool leaves, struct lru_gen *out,
                 struct error *error);

/** The youngest generation. */
static inline const struct lru_generation *lru_gen_youngest(const struct lru_gen_node *node)
{
    return &node->generations[node->n - 1];
}

/**
 * Begins a new generation on one node, after a walk of all page tables that ignores swap and
 * heuristics. If another walk is in progress, it returns 0 without effect; the number of the
 * youngest generation then does not change.
 * @return 0 or a negative errno: -EPERM also if the kernel is locked down
 */
int lru_gen_age(const struct fsroot *root, uint64_t memcg_id, const struct lru_gen_node *node);

/** The number of page table entries that the last walk examined; @p after was read right after that
 * walk. UINT64_MAX: unknown. */
uint64_t lru_gen_walked(const struct lru_gen_node *before, const struct lru_gen_node *after);
