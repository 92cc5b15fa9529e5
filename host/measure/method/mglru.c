// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file mglru.c  Method `mglru`: the host's MGLRU ages the guest's control group before and after
 * the window. KVM and TCG.
 *
 * Theory of operation. An ageing (kernel/lru_gen.h) walks QEMU's page tables once, linearly, and
 * takes the accessed bits, since Linux 6.12 KVM's too (1d4832becdc2). Pages that were touched move
 * to the youngest generation, and a new one is begun. So after a second ageing, the pages touched
 * in between are in the generations that were begun since the first ageing, except the youngest.
 * That is a census of the whole control group, without a walk through the mappings of each page:
 * less than half of the cost of `idle` (tests/lab/measure/mglru.sh, 96 MiB in base pages: 0.33 s of
 * CPU beside 2.1, and 0.35 beside 3.4).
 *
 * The figure covers the group, which is mostly guest RAM, and no single page:
 *   - It includes QEMU's own memory. smaps shows how much of that was referenced in the window:
 *     this is subtracted, and the upper bound includes it. If a mapping also has pages of a file,
 *     smaps does not show which pages were referenced: only the references that file pages cannot
 *     explain are subtracted, and the rest is subtracted from the lower bound. The guest may also
 *     touch memory that it shares with QEMU (video RAM) unseen: the lower bound excludes it.
 *   - It includes other processes of the group: the lower bound excludes all of their memory; if
 *     that is much, the group is refused.
 *   - Page cache is in other columns, so RAM in a file on a disk cannot be distinguished from it
 * and is refused.
 *   - A folio is in one generation: if one of its pages was touched, all count. smaps shows the
 *     number of huge pages; for other folios, if the host has any, each page's frame is read
 *     (folio_strata.h). The result then has the flag `thp` and a lower bound of one base page for
 *     each folio, and reading each page's frame costs up to 36 s of CPU time for 512 GiB.
 *   - Memory on none of the lists is unmeasurable: locked or hugetlb memory, and memory charged to
 *     another group.
 *   - New pages come to the lists in batches, and then count with the youngest generation, whenever
 *     they were touched: 13 pages that had waited since the guest's start counted as touched in the
 *     window in which the batch was emptied, and pages that wait at its end do not count at all. So
 *     the batches are emptied before each ageing (kernel/lru_batches.h).
 * Generations that others begin meanwhile (kswapd, another user of lru_gen) do no harm as long as
 * all generations of the window are kept: touched pages are in one of them. If old generations were
 * merged into them, the bounds and a flag show it. The generations of a window stay apart from
 * older ones for two windows; a third would need a fifth generation.
 *
 * Clearing an accessed bit does not flush the TLB: after the first ageing it is flushed once
 * (tlb_flush.h).
 *
 * DAMON takes accessed bits, too: each page that it sampled may have been touched, and the upper
 * bound includes it (measure/damon_taken.h).
 *
 * Each ageing proves itself: the number of the youngest generation must have grown, and the walk
 * must have examined as many page table entries as map guest RAM (lru_gen_full), because the kernel
 * gives up a walk when QEMU's mmap lock is taken.
 *
 * The method leaves two or three generations younger than there would have been, and no setting.
 * Reclaim then evicts pages that the window did not touch, and sooner than page cache
 * (tests/bench/reclaim: 0 of 23.9 MiB were hot, 16.0 of 16.1 without). Among pages older than the
 * four generations that are kept, it can no longer tell which are older.
 */
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "measure/damon_taken.h"
#include "measure/kernel/collapses.h"
#include "measure/kernel/lru_batches.h"
#include "measure/kernel/lru_gen.h"
#include "measure/kernel/memcg.h"
#include "measure/kernel/ram_smaps.h"
#include "measure/kernel/vmstat.h"
#include "measure/method.h"
#include "measure/method/folio_strata.h"
#include "measure/method/mglru_checks.h"
#include "measure/method/mglru_count.h"
#include "measure/method/mglru_trial.h"
#include "measure/method/tlb_flush.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 20
#define RETRY_MS 10

struct counters {
    uint64_t scanned, moved, collapses;
};

struct mglru {
    const struct target *target;
    struct memcg group;
    struct lru_gen marked;            /* state right after the first ageing */
    struct lru_gen now;               /* state at the last reading */
    unsigned aged[LRU_GEN_MAX_NODES]; /* generations that this process began since marked */
    struct counters began;
    struct damon_mark damon; /* position before the first ageing */
    /* QEMU's own memory that smaps called referenced after the first ageing */
    uint64_t own_bytes;
    bool stale; /* no TLB flush followed */
};

/* --- ageing ----------------------------------------------------------------------------------- */

/* Returns true if the requested walk began a generation of node @p i, and examined everything that
 * maps guest RAM. */
static bool is_aged(const struct lru_gen *before, const struct lru_gen *after, unsigned i,
                    uint64_t leaves)
{
    return lru_gen_youngest(&after->nodes[i])->number >
               lru_gen_youngest(&before->nodes[i])->number &&
           lru_gen_walked(&before->nodes[i], &after->nodes[i]) >= leaves;
}

static int order_ageing(struct mglru *mglru, const bool *done, struct error *error)
{
    for (unsigned i = 0; i < mglru->now.n_nodes; i++) {
        int rc = done[i]
                     ? 0
                     : lru_gen_age(mglru->target->root, mglru->now.memcg_id, &mglru->now.nodes[i]);

        if (rc < 0)
            return error_set(error, rc, "mglru: control group %s, node %u: %s%s", mglru->group.path,
                             mglru->now.nodes[i].id, strerror(-rc),
                             rc == -EPERM ? " (a kernel that is locked down forbids debugfs)" : "");
    }
    return 0;
}

/* Requests one ageing of the nodes not yet done, and takes the new state. Returns the number of
 * nodes to repeat, or an error. */
static int age_once(struct mglru *mglru, bool *done, uint64_t leaves, struct error *error)
{
    cleanup_free struct lru_gen *before = malloc(sizeof(*before));
    int again = 0;
    int rc = before ? order_ageing(mglru, done, error)
                    : error_set(error, -ENOMEM, "mglru: out of memory");

    if (rc < 0)
        return rc;
    *before = mglru->now;
    rc = lru_gen_read(mglru->target->root, mglru->group.path, true, &mglru->now, error);
    if (rc < 0)
        return rc;
    if (before->memcg_id != mglru->now.memcg_id || before->n_nodes != mglru->now.n_nodes)
        return error_set(error, -ESTALE, "mglru: control group %s has been made anew",
                         mglru->group.path);
    for (unsigned i = 0; i < mglru->now.n_nodes; i++) {
        if (done[i])
            continue;
        mglru->aged[i] += lru_gen_youngest(&mglru->now.nodes[i])->number >
                          lru_gen_youngest(&before->nodes[i])->number;
        done[i] = is_aged(before, &mglru->now, i, leaves);
        again += !done[i];
    }
    return again;
}

/* Begins a new generation on each node, after a complete walk: at least @p leaves page table
 * entries. */
static int age(struct mglru *mglru, uint64_t leaves, unsigned tries, struct error *error)
{
    bool done[LRU_GEN_MAX_NODES] = {false};
    int rc = 1;

    for (unsigned n = 0; rc > 0 && n < tries; n++) {
        if (n > 0)
            clock_sleep(RETRY_MS * 1000000ULL);
        rc = age_once(mglru, done, leaves, error);
    }
    return rc <= 0
               ? rc
               : error_set(error, -EBUSY,
                           "mglru: no walk of QEMU's page tables came to its end, %u times: "
                           "others age control group %s, or QEMU's mmap lock is taken; try again",
                           tries, mglru->group.path);
}

/* --- counters --------------------------------------------------------------------------------- */

/* Pages that were isolated from their lists to be migrated, whether that succeeded or not. */
static uint64_t moved_pages(const struct fsroot *root)
{
    static const char *const names[] = {"pgmigrate_success", "pgmigrate_fail", "compact_isolated",
                                        NULL};

    return vmstat_sum(root, names);
}

static struct counters read_counters(const struct mglru *mglru)
{
    const struct fsroot *root = mglru->target->root;

    return (struct counters){
        .scanned = memcg_scanned_pages(root, &mglru->group),
        .moved = moved_pages(root),
        .collapses = collapses_read(root),
    };
}

static uint64_t unmapped_bytes(const struct guest_ram *ram)
{
    uint64_t sum = 0;

    for (size_t b = 0; b < ram->n_blocks; b++)
        if (ram->blocks[b].resident_bytes > ram->blocks[b].mapped_bytes)
            sum += ram->blocks[b].resident_bytes - ram->blocks[b].mapped_bytes;
    return sum;
}

static uint64_t others_bytes(const struct mglru *mglru)
{
    struct memcg_process largest;
    int64_t bytes = memcg_others(mglru->target->root, &mglru->group, mglru->target->process->pid,
                                 &largest);

    return bytes > 0 ? (uint64_t)bytes : 0;
}

/* A counter that cannot be read is 0. */
static struct mglru_beside beside(const struct mglru *mglru)
{
    const struct counters now = read_counters(mglru);

    return (struct mglru_beside){
        .scanned_pages = less(now.scanned, mglru->began.scanned),
        .scans_unknown = *mglru->group.mount != '\0',
        .moved_pages = less(now.moved, mglru->began.moved),
        .collapses = less(now.collapses, mglru->began.collapses),
        .others_bytes = others_bytes(mglru),
        .unmapped_bytes = unmapped_bytes(mglru->target->ram),
        .own_before_bytes = mglru->own_bytes,
    };
}

/* --- the window ------------------------------------------------------------------------------- */

/* The number when the RAM was located. If huge pages were made of it since, there are fewer. */
static uint64_t located_leaves(const struct guest_ram *ram)
{
    uint64_t sum = 0;

    for (size_t b = 0; b < ram->n_blocks; b++) {
        const struct ram_block *block = &ram->blocks[b];
        uint64_t huge = smaller(block->huge_bytes, block->mapped_bytes);

        if (mglru_lists(block))
            sum += base_pages(block->mapped_bytes - huge) + huge / huge_page_bytes();
    }
    return sum;
}

static int age_first(struct mglru *mglru, struct error *error)
{
    struct error first = {0};
    struct ram_smaps sums;
    int rc = age(mglru, located_leaves(mglru->target->ram), 1, &first);

    if (rc != -EBUSY)
        return rc < 0 ? error_set(error, rc, "%s", first.text) : 0;
    rc = ram_smaps_read(mglru->target, &sums, error);
    return rc < 0 ? rc : age(mglru, sums.leaves, TRIES, error);
}

/* QEMU's earlier touches: since Linux 6.14 an ageing turns them into PG_referenced
 * (folio_update_gen(), mm/vmscan.c), which smaps counts until generations are folded. */
static int read_own_before(struct mglru *mglru, struct error *error)
{
    struct ram_smaps sums = {0};
    int rc = mglru_leaves_referenced(mglru->target->root)
                 ? ram_smaps_read_own(mglru->target, &sums, error)
                 : 0;

    mglru->own_bytes = sums.own_referenced_bytes;
    return rc;
}

static int mglru_mark(void *state, struct error *error)
{
    struct mglru *mglru = state;
    int rc = lru_gen_read(mglru->target->root, mglru->group.path, true, &mglru->now, error);

    mglru->damon = damon_mark_now(mglru->target->root);
    lru_batches_drain();
    if (rc == 0)
        rc = age_first(mglru, error);
    if (rc == 0)
        rc = read_own_before(mglru, error);
    if (rc < 0)
        return rc;
    mglru->marked = mglru->now;
    memset(mglru->aged, 0, sizeof(mglru->aged));
    mglru->began = read_counters(mglru);
    mglru->stale = !tlb_flush_guest(mglru->target);
    return 0;
}

static int mglru_collect(void *state, struct tally *tally, struct error *error)
{
    struct mglru *mglru = state;
    struct mglru_figure figure;
    struct ram_smaps sums;
    int rc = ram_smaps_read_own(mglru->target, &sums, error);

    lru_batches_drain();
    if (rc == 0)
        rc = age(mglru, sums.leaves, TRIES, error);
    if (rc < 0)
        return rc;
    rc = mglru_figure(&mglru->marked, &mglru->now, mglru->aged, &figure);
    if (rc < 0)
        return error_set(error, rc, "mglru: control group %s has been made anew",
                         mglru->group.path);

    const struct mglru_beside others = beside(mglru);

    mglru_tally(&figure, &sums, &others, tally);
    folio_strata(mglru->target, tally);
    damon_taken_of_census(mglru->target, &mglru->damon, tally);
    if (mglru->stale)
        tlb_doubt(mglru->target, tally);
    return 0;
}

/* --- the table -------------------------------------------------------------------------------- */

static int mglru_open(const struct target *target, struct page_set *set, void **state,
                      struct error *error)
{
    struct mglru *mglru = calloc(1, sizeof(*mglru));

    (void)set;
    if (!mglru)
        return error_set(error, -ENOMEM, "mglru: out of memory");
    mglru->target = target;

    int rc = mglru_find_group(target, &mglru->group, error);

    if (rc < 0)
        free(mglru);
    else
        *state = mglru;
    return rc;
}

static void mglru_close(void *state)
{
    free(state);
}

static int mglru_probe(const struct target *target, struct error *why)
{
    struct memcg group;
    int rc = mglru_host(target->root, why);

    if (rc == 0)
        rc = mglru_check_ram(target->ram, why);
    if (rc == 0)
        rc = mglru_find_group(target, &group, why);
    return rc == 0 ? mglru_sees_guest(target, why) : rc;
}

const struct method method_mglru = {
    .name = "mglru",
    .summary =
        "accessed bits of host and KVM page tables, the whole control group at once, by MGLRU",
    .signal = SIGNAL_GENERATIONS,
    .census = true,
    .max_windows = 2,
    .tells_damon = true,
    .sees_qemu = true,
    .verified_page_sizes = BASE_ALL,
    .host = mglru_host,
    .probe = mglru_probe,
    .open = mglru_open,
    .mark = mglru_mark,
    .collect = mglru_collect,
    .close = mglru_close,
};
