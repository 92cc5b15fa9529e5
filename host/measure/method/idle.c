// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file idle.c  Method `idle`: page_idle tracking of the frames behind guest RAM. KVM and TCG.
 *
 * Theory of operation. Marking a frame clears the accessed bits of all of its mappings, KVM's
 * included (through the MMU notifiers), and sets its idle flag; reading harvests the bits again,
 * and a frame that is no longer idle was touched. Both are correct only for heads of folios on an
 * LRU list: for all other frames the bitmap reads "not idle" for ever, which a naive reader takes
 * for hot. Therefore
 *   - tails are mapped to their heads, and one huge page is one observation;
 *   - after marking, /proc/kpageflags must show the idle flag; a page without it is unmeasurable
 *     (hugetlb, pages isolated or still in a per-CPU batch, which a census empties first), and so
 *     are merged pages (KSM) that another mapping shares, whose owner touches them too.
 *
 * Work is done in batches of pages: pagemap → frames, sorted → flags → heads → bitmap
 * (idle_frames.h). The kernel's own work, a walk through the mappings of each page to mark it and
 * another to read it, is nearly all of the cost.
 *
 * A page that changes its frame keeps its idle flag when it is migrated or split (mm/migrate.c,
 * mm/huge_memory.c), so each collection reads the present frame. But KVM's accessed bit may be lost
 * then (carried_bits.h): a page that was migrated or split since it was marked, and reads idle, is
 * unmeasurable. When khugepaged collapses pages into a new huge page the flag is lost: such a page
 * is unmeasurable from then on, not hot. khugepaged fills holes, too: a page that appeared in a
 * huge page was touched only if khugepaged made no huge page meanwhile. A page that came back from
 * swap while swapoff was at work was not necessarily touched either. The frame into which KSM
 * merges pages may have the flag, independent of their own flags: while KSM merges pages of the
 * guest, merged pages are unmeasurable too.
 *
 * Clearing an accessed bit does not flush the TLB: after all pages are marked it is flushed once
 * (tlb_flush.h).
 *
 * DAMON takes accessed bits and leaves the idle flag set: pages that DAMON sampled and that read
 * idle are unmeasurable (measure/damon_taken.h).
 *
 * The method leaves idle flags on pages that were not touched since, also after kill -9. No call
 * clears them, and this is not needed: only page_idle and DAMON read them; reclaim keeps its own
 * view through PG_young, which page_idle sets for it.
 */
#include "base/bytes.h"
#include "base/cleanup.h"
#include "measure/damon_taken.h"
#include "measure/kernel/collapses.h"
#include "measure/kernel/idle_bitmap.h"
#include "measure/kernel/kpageflags.h"
#include "measure/kernel/ksm.h"
#include "measure/kernel/lru_batches.h"
#include "measure/kernel/vmstat.h"
#include "measure/method.h"
#include "measure/method/idle_collect.h"
#include "measure/method/idle_singles.h"
#include "measure/method/tlb_flush.h"
#include "measure/method/trial.h"

#include <errno.h>
#include <string.h>

/* --- marking ---------------------------------------------------------------------------------- */

static void lost_at_mark(struct page_set *set, uint64_t i, enum page_state state)
{
    set->state[i] = (uint8_t)state;
}

static bool keep_trackable(struct page_set *set, const struct frame *frame)
{
    page_set_note_unit(set, frame->i, frame->order, frame->unit_hva);
    if (frame->zero_page)
        set->state[frame->i] = PAGE_ABSENT;
    else if (!frame->trackable)
        set->state[frame->i] = PAGE_UNMEASURABLE;
    return !frame->zero_page && frame->trackable;
}

/* Sets the idle flag of all frames and relies only on what kpageflags then shows. */
static int mark_and_verify(struct idle *idle)
{
    struct frames *frames = &idle->frames;
    int rc = idle_bitmap_mark(idle->bitmap_fd, frames_pfns(frames), frames->n_frames);
    const uint64_t *flags = rc == 0 ? frames_flags(frames, &rc) : NULL;

    for (uint64_t i = 0; flags && i < frames->n_frames; i++)
        idle->set->state[frames->frame[i].i] = flags[i] & KPF_IDLE ? PAGE_IDLE : PAGE_UNMEASURABLE;
    return rc;
}

static int mark_batch(struct idle *idle)
{
    int rc = frames_map(&idle->frames, lost_at_mark);

    if (rc == 0) {
        frames_remember(&idle->frames);
        rc = singles_mark(&idle->frames, idle->bitmap_fd);
    }
    if (rc == 0)
        rc = frames_resolve(&idle->frames);
    if (rc < 0)
        return rc;
    frames_filter(&idle->frames, keep_trackable);
    return mark_and_verify(idle);
}

/* --- collecting ------------------------------------------------------------------------------- */

/* Fills the batch with pages from @p i on whose state is @p wanted; returns where it ended. */
static uint64_t fill_batch(struct idle *idle, uint64_t i, bool (*wanted)(enum page_state))
{
    struct frames *frames = &idle->frames;

    if (wanted == page_any) { /* a census needs no test of each page */
        frames->n = smaller(frames->batch, idle->set->n - i);
        for (uint64_t k = 0; k < frames->n; k++)
            frames->index[k] = i + k;
        return i + frames->n;
    }
    for (; i < idle->set->n && frames->n < frames->batch; i++)
        if (wanted((enum page_state)idle->set->state[i]))
            frames->index[frames->n++] = i;
    return i;
}

/* Calls @p work for the pages whose state is @p wanted, a batch at a time. */
static int for_each_batch(struct idle *idle, bool (*wanted)(enum page_state),
                          int (*work)(struct idle *idle), struct error *error)
{
    struct frames *frames = &idle->frames;
    int rc = frames_begin(frames);

    for (uint64_t i = 0; rc == 0 && i < idle->set->n;) {
        i = fill_batch(idle, i, wanted);
        if (frames->n > 0)
            rc = work(idle);
        frames->n = 0;
    }
    frames_end(frames);
    return rc < 0 ? error_set(error, rc, "page_idle: %s", strerror(-rc)) : 0;
}

/* --- the table -------------------------------------------------------------------------------- */

static void idle_close(void *state)
{
    struct idle *idle = state;

    frames_close(&idle->frames);
    cleanup_close_at(&idle->bitmap_fd);
    free(idle);
}

static int idle_open(const struct target *target, struct page_set *set, void **state,
                     struct error *error)
{
    struct idle *idle = calloc(1, sizeof(*idle));

    if (!idle)
        return error_set(error, -ENOMEM, "page_idle: out of memory");
    idle->target = target;
    idle->set = set;
    idle->frames.pagemap_fd = idle->frames.flags_fd = idle->frames.count_fd = -1;
    idle->bitmap_fd = idle_bitmap_open(target->root, error);

    int rc = idle->bitmap_fd < 0 ? idle->bitmap_fd : frames_open(&idle->frames, target, set, error);

    if (rc < 0)
        idle_close(idle);
    else
        *state = idle;
    return rc;
}

static void flush(struct idle *idle)
{
    idle->stale = !tlb_flush(idle->target, idle->set, idle->frames.pagemap_fd);
}

static bool any_swapped(const struct page_set *set)
{
    return memchr(set->state, PAGE_SWAPPED, set->n) != NULL;
}

/* Records, after marking or collecting, the state for the next comparison. */
static void remember_swap(struct idle *idle)
{
    idle->swapped = any_swapped(idle->set);
    if (idle->swapped)
        idle->devices = swap_devices_read(idle->target->root);
}

static void check_swapoff(struct idle *idle)
{
    struct swap_devices now = {0};

    if (idle->swapped)
        now = swap_devices_read(idle->target->root);
    idle->swapoff = idle->swapped && swap_devices_left(&idle->devices, &now);
}

static void check_merging(struct idle *idle)
{
    uint64_t merged = ksm_merged_pages(idle->target);

    idle->merges = merged != idle->merged;
    idle->merged = merged;
}

static uint64_t splits_read(const struct idle *idle)
{
    return idle->frames.was ? vmstat_read(idle->target->root, "thp_split_pmd") : 0;
}

static void check_splits(struct idle *idle)
{
    uint64_t splits = splits_read(idle);

    idle->splits_more = splits != idle->splits;
    idle->splits = splits;
    idle->last = (struct unit_mapping){0};
}

static int idle_mark(void *state, struct error *error)
{
    struct idle *idle = state;
    int rc;

    idle->damon = damon_mark_now(idle->target->root);
    idle->damon_hides = false;
    idle->damon_took = 0;
    idle->collapses = collapses_read(idle->target->root);
    idle->merged = ksm_merged_pages(idle->target);
    idle->splits = splits_read(idle);
    if (page_set_is_census(idle->set))
        lru_batches_drain();
    rc = for_each_batch(state, page_any, mark_batch, error);
    remember_swap(idle);
    if (rc == 0)
        flush(state);
    return rc;
}

static int idle_rearm(void *state, struct error *error)
{
    struct idle *idle = state;
    int rc = for_each_batch(state, page_needs_rearm, mark_batch, error);

    idle->damon_hides = false;
    idle->damon_took = 0;
    remember_swap(state);
    if (rc == 0)
        flush(state);
    return rc;
}

/* Runs after the pages were read, so that it misses no page. */
static void drop_taken(struct idle *idle)
{
    const int64_t took = damon_taken_of_set(idle->target, &idle->damon, idle->set);

    idle->damon_hides |= took < 0;
    idle->damon_took += took > 0 ? (uint64_t)took : 0;
    idle->damon = damon_mark_now(idle->target->root);
}

static void count(const struct idle *idle, struct tally *tally)
{
    page_set_tally(idle->set, tally);
    tally->unmeasurable_otherwise =
        base_pages(tally->unmeasurable_bytes) + tally->drawn_unmeasurable > idle->damon_took;
    if (idle->damon_hides)
        damon_doubt(tally);
    if (idle->stale)
        tlb_doubt(idle->target, tally);
}

static int idle_collect(void *state, struct tally *tally, struct error *error)
{
    struct idle *idle = state;
    uint64_t collapses = collapses_read(idle->target->root);

    idle->reading = damon_mark_now(idle->target->root);
    check_swapoff(idle);
    check_merging(idle);
    check_splits(idle);

    int rc = for_each_batch(idle, page_any, idle_collect_batch, error);

    idle->collapses = collapses;
    remember_swap(idle);
    drop_taken(idle);
    if (rc == 0)
        count(idle, tally);
    return rc;
}

static int idle_host(const struct fsroot *root, struct error *why)
{
    cleanup_close int bitmap_fd = idle_bitmap_open(root, why);

    if (bitmap_fd < 0)
        return bitmap_fd;

    cleanup_close int flags_fd = kpageflags_open(root, why);

    return flags_fd < 0 ? flags_fd : 0;
}

/* One page that takes the mark is proof; in most guests nearly every page does. */
static int idle_probe(const struct target *target, struct error *why)
{
    struct trial trial;
    int rc = trial_mark(&method_idle, target, 16, &trial, why);

    if (rc < 0 || trial.pages[PAGE_IDLE] == 0)
        rc = trial_mark(&method_idle, target, 1024, &trial, why);
    if (rc < 0 || trial.pages[PAGE_IDLE] > 0)
        return rc;
    if (trial.pages[PAGE_UNMEASURABLE] > 0)
        return error_set(why, -ENOTSUP,
                         "none of %llu pages takes the idle mark (hugetlb pages are not "
                         "on an LRU list; others may be pinned or merged)",
                         (unsigned long long)trial.pages[PAGE_UNMEASURABLE]);
    return error_set(why, -ENODATA, "none of %llu pages looked at is resident",
                     (unsigned long long)trial_pages(&trial));
}

const struct method method_idle = {
    .name = "idle",
    .verified_page_sizes = BASE_4K | BASE_64K, /* no kernel with pages of 16 KiB had page_idle */
    .summary = "accessed bits of host and KVM page tables, page by page, by page_idle",
    .signal = SIGNAL_IDLE_FLAG,
    .census = true,
    .panel = true,
    .needs_pages = true,
    .rank = {[ORDER_KVM] = 1,
             [ORDER_KVM_AGEING] = 3,
             [ORDER_TCG] = 1,
             [ORDER_TCG_AGEING] = 2,
             [ORDER_DAEMON] = 1,
             [ORDER_DAEMON_AGEING] = 3},
    .tells_damon = true,
    .sees_qemu = true,
    .host = idle_host,
    .probe = idle_probe,
    .open = idle_open,
    .mark = idle_mark,
    .collect = idle_collect,
    .rearm = idle_rearm,
    .close = idle_close,
};
