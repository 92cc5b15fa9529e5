// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file idle.c  Method `idle`: page_idle tracking of the frames behind guest RAM. KVM and TCG.
 *
 * Theory of operation. Marking a frame clears the accessed bits of all of its mappings, KVM's included
 * (the MMU notifiers are asked), and sets its idle flag; reading harvests the bits again, and a frame
 * that is no longer idle was touched. Both are right only for heads of folios on an LRU list: for
 * everything else the bitmap reads "not idle" for ever, which a naive reader takes for hot. Therefore
 *   - tails are mapped to their heads, and one huge page is one observation;
 *   - after marking, /proc/kpageflags must show the idle flag; what does not show it is unmeasurable
 *     (hugetlb, pages isolated or still in a per-CPU batch), and so are merged pages (KSM) that another
 *     mapping shares, whose owner touches them too.
 *
 * Work is done in batches of pages: pagemap → frames, sorted → flags → heads → bitmap. A batch bounds
 * the memory for any size of guest, and sorting makes neighbours in the bitmap one transfer.
 *
 * A page that changes its frame keeps its idle flag when it is migrated or split (mm/migrate.c,
 * mm/huge_memory.c), so each collection looks at today's frame. When khugepaged collapses pages into a
 * new huge page the flag is lost: such a page is unmeasurable from then on, not hot.
 *
 * Clearing an accessed bit does not flush the TLB, and an access through a translation that stayed cached
 * sets no bit: a hot page then reads idle. So after all pages are marked the TLB is flushed once:
 *   - of a KVM guest by dropping a few of its mappings (pagemap_invalidate(), Linux 6.7), which ends in a
 *     flush of the whole VM;
 *   - of a TCG guest by MADV_COLD on all of its RAM, which clears the bits once more, with a flush if any was
 *     set again, and puts the pages on the inactive list. Without it a TCG guest with a hot set of 4,101
 *     pages read 82 in the lab. It costs a walk of QEMU's page tables, for a panel too.
 * Where neither is possible (KVM before 6.7, locked memory) a small hot set may read low.
 *
 * Left behind, also after kill -9: idle flags on pages nobody has touched since. There is no call that
 * clears them, and none is needed: nothing but page_idle and DAMON reads them, reclaim keeps its own
 * view through PG_young, which page_idle sets for it.
 */
#include "base/cleanup.h"
#include "sample/kernel/advise.h"
#include "sample/kernel/idle_bitmap.h"
#include "sample/kernel/kpageflags.h"
#include "sample/kernel/pagemap.h"
#include "sample/kernel/u64_file.h"
#include "sample/method.h"

#include <errno.h>
#include <string.h>

#define BATCH_PAGES \
    32768 /* 128 MiB of guest RAM; one bitmap transfer when the frames are contiguous */

/* One present page of the batch. */
struct frame {
    uint64_t pfn;      /* its own frame while sorting, then the head of its folio */
    uint64_t unit_hva; /* where the folio begins in the process */
    uint32_t at;       /* which page of the batch */
    uint8_t order;
    bool trackable;
    bool zero_page; /* the shared zero page: nothing of its own is behind it */
};

struct idle {
    const struct target *target;
    struct page_set *set;
    int pagemap_fd;
    int flags_fd;
    int bitmap_fd;
    int count_fd; /* /proc/kpagecount; -1 when KSM has merged nothing of this process */
    /* of one batch: */
    uint64_t n;                  /* pages */
    uint64_t index[BATCH_PAGES]; /* where each is in the set, ascending */
    uint64_t n_frames;           /* of these, present */
    struct frame frames[BATCH_PAGES];
    uint64_t page[BATCH_PAGES];
    uint64_t entry[BATCH_PAGES]; /* of the pagemap */
    uint64_t flags[BATCH_PAGES];
    uint64_t pfn[BATCH_PAGES];
    uint8_t idle[BATCH_PAGES];
    /* the last huge folio seen: its tails follow one another */
    uint64_t head;
    uint64_t head_flags;
    unsigned head_order;
};

/* --- frames of a batch ------------------------------------------------------------------------- */

static int compare_frames(const void *a, const void *b)
{
    uint64_t x = ((const struct frame *)a)->pfn;
    uint64_t y = ((const struct frame *)b)->pfn;

    return (x > y) - (x < y);
}

static void sort_frames(struct idle *idle)
{
    /* Freshly booted guests are often in order already; then the sort would be half of our user time. */
    for (uint64_t i = 1; i < idle->n_frames; i++)
        if (idle->frames[i].pfn < idle->frames[i - 1].pfn) {
            qsort(idle->frames, idle->n_frames, sizeof(*idle->frames), compare_frames);
            return;
        }
}

static uint64_t index_of(const struct idle *idle, const struct frame *frame)
{
    return idle->index[frame->at];
}

/* Reads the pagemap for the pages of the batch; absent and swapped ones get their state by @p lost, present
 * ones become frames. */
static int read_frames(struct idle *idle,
                       void (*lost)(struct idle *idle, uint64_t i, enum page_state state))
{
    for (uint64_t i = 0; i < idle->n; i++)
        idle->page[i] = page_set_page(idle->set, idle->index[i]);

    int rc = pagemap_read(idle->pagemap_fd, idle->target->ram, idle->page, idle->n, idle->entry);

    idle->n_frames = 0;
    for (uint64_t i = 0; rc == 0 && i < idle->n; i++) {
        uint64_t entry = idle->entry[i];

        if (entry & PAGEMAP_PRESENT)
            idle->frames[idle->n_frames++] = (struct frame){.pfn = PAGEMAP_PFN(entry),
                                                            .at = (uint32_t)i};
        else
            lost(idle, idle->index[i], entry & PAGEMAP_SWAPPED ? PAGE_SWAPPED : PAGE_ABSENT);
    }
    return rc;
}

/* Points head, head_flags and head_order at the folio that holds @p pfn; -ENOENT when it was split
 * while we looked. */
static int find_folio(struct idle *idle, uint64_t pfn, uint64_t flags)
{
    if (pfn >= idle->head && pfn - idle->head < 1ULL << idle->head_order)
        return 0;
    idle->head = pfn;
    idle->head_flags = flags;
    idle->head_order = 0;

    int rc = 0;

    if (flags & KPF_COMPOUND_TAIL)
        rc = kpageflags_find_head(idle->flags_fd, pfn, &idle->head, &idle->head_flags);
    if (rc == 0)
        rc = kpageflags_folio_order(idle->flags_fd, idle->head, &idle->head_order);
    return rc;
}

static bool is_merged(struct idle *idle, uint64_t pfn, uint64_t flags)
{
    uint64_t count;

    return idle->count_fd >= 0 && (flags & KPF_KSM) &&
           u64_file_gather(idle->count_fd, &pfn, 1, 0, &count) == 0 && count > 1;
}

/* Turns a frame into the head of its folio and says whether page_idle can track it. */
static int resolve_folio(struct idle *idle, struct frame *frame, uint64_t flags, uint64_t hva)
{
    uint64_t own_pfn = frame->pfn;

    if (flags & (KPF_COMPOUND_HEAD | KPF_COMPOUND_TAIL)) {
        int rc = find_folio(idle, own_pfn, flags);

        if (rc < 0 && rc != -ENOENT)
            return rc;
        frame->pfn = idle->head;
        frame->order = (uint8_t)idle->head_order;
        flags |= idle->head_flags;
    }
    frame->unit_hva = hva - (own_pfn - frame->pfn) * BASE_PAGE_BYTES;
    frame->zero_page = flags & KPF_ZERO_PAGE;
    frame->trackable = (flags & KPF_LRU) && !(flags & (KPF_HUGE | KPF_NOPAGE)) &&
                       !is_merged(idle, own_pfn, flags);
    return 0;
}

static int read_flags(struct idle *idle)
{
    for (uint64_t i = 0; i < idle->n_frames; i++)
        idle->pfn[i] = idle->frames[i].pfn;
    return kpageflags_read(idle->flags_fd, idle->pfn, idle->n_frames, idle->flags);
}

/* Sorts the frames and replaces each by the head of its folio; the order stays ascending. */
static int resolve_folios(struct idle *idle)
{
    sort_frames(idle);

    int rc = read_flags(idle);

    idle->head = UINT64_MAX; /* folios may have changed since the last batch */
    for (uint64_t i = 0; rc == 0 && i < idle->n_frames; i++) {
        struct frame *frame = &idle->frames[i];

        rc = resolve_folio(idle, frame, idle->flags[i],
                           page_set_hva(idle->set, index_of(idle, frame)));
    }
    return rc;
}

/* Leaves only the frames for which @p keep says so. */
static void filter_frames(struct idle *idle, bool (*keep)(struct idle *, const struct frame *))
{
    uint64_t kept = 0;

    for (uint64_t i = 0; i < idle->n_frames; i++)
        if (keep(idle, &idle->frames[i]))
            idle->frames[kept++] = idle->frames[i];
    idle->n_frames = kept;
}

/* --- marking ----------------------------------------------------------------------------------- */

static void lost_at_mark(struct idle *idle, uint64_t i, enum page_state state)
{
    idle->set->state[i] = (uint8_t)state;
}

static bool keep_trackable(struct idle *idle, const struct frame *frame)
{
    uint64_t i = index_of(idle, frame);

    page_set_note_unit(idle->set, i, frame->order, frame->unit_hva);
    if (frame->zero_page)
        idle->set->state[i] = PAGE_ABSENT;
    else if (!frame->trackable)
        idle->set->state[i] = PAGE_UNMEASURABLE;
    return !frame->zero_page && frame->trackable;
}

/* Sets the idle flag of all frames and believes only what kpageflags then shows. */
static int mark_and_verify(struct idle *idle)
{
    for (uint64_t i = 0; i < idle->n_frames; i++)
        idle->pfn[i] = idle->frames[i].pfn;

    int rc = idle_bitmap_mark(idle->bitmap_fd, idle->pfn, idle->n_frames);

    if (rc == 0)
        rc = kpageflags_read(idle->flags_fd, idle->pfn, idle->n_frames, idle->flags);
    for (uint64_t i = 0; rc == 0 && i < idle->n_frames; i++)
        idle->set->state[index_of(idle, &idle->frames[i])] = idle->flags[i] & KPF_IDLE
                                                                 ? PAGE_IDLE
                                                                 : PAGE_UNMEASURABLE;
    return rc;
}

static int mark_batch(struct idle *idle)
{
    int rc = read_frames(idle, lost_at_mark);

    if (rc == 0)
        rc = resolve_folios(idle);
    if (rc < 0)
        return rc;
    filter_frames(idle, keep_trackable);
    return mark_and_verify(idle);
}

/* --- collecting -------------------------------------------------------------------------------- */

/* A page that was there and is gone was taken away (balloon, reclaim); it is not resident any more. A
 * page that was touched stays touched even so: it is part of the working set of the window. */
static void lost_at_collect(struct idle *idle, uint64_t i, enum page_state state)
{
    if (idle->set->state[i] != PAGE_TOUCHED)
        idle->set->state[i] = (uint8_t)state;
}

static bool keep_marked(struct idle *idle, const struct frame *frame)
{
    uint64_t i = index_of(idle, frame);
    uint8_t *state = &idle->set->state[i];

    switch ((enum page_state) * state) {
    case PAGE_ABSENT:
    case PAGE_SWAPPED:
        /* It appeared within the window: somebody faulted it in. */
        if (!frame->zero_page) {
            *state = PAGE_TOUCHED;
            page_set_note_unit(idle->set, i, frame->order, frame->unit_hva);
        }
        return false;
    case PAGE_IDLE:
        if (frame->order > idle->set->order[i] || !frame->trackable) {
            *state = PAGE_UNMEASURABLE;
            return false;
        }
        return true;
    case PAGE_UNMEASURABLE:
    case PAGE_TOUCHED:
        return false;
    }
    return false;
}

static int collect_batch(struct idle *idle)
{
    int rc = read_frames(idle, lost_at_collect);

    if (rc == 0)
        rc = resolve_folios(idle);
    if (rc < 0)
        return rc;
    filter_frames(idle, keep_marked);
    for (uint64_t i = 0; i < idle->n_frames; i++)
        idle->pfn[i] = idle->frames[i].pfn;
    rc = idle_bitmap_read(idle->bitmap_fd, idle->pfn, idle->n_frames, idle->idle);
    for (uint64_t i = 0; rc == 0 && i < idle->n_frames; i++) {
        uint8_t *state = &idle->set->state[index_of(idle, &idle->frames[i])];

        if (idle->idle[i] == IDLE_BITMAP_UNKNOWN)
            *state = PAGE_UNMEASURABLE;
        else if (!idle->idle[i])
            *state = PAGE_TOUCHED;
    }
    return rc;
}

/* Does @p work on the pages whose state is @p wanted, a batch at a time. */
static int for_each_batch(struct idle *idle, bool (*wanted)(enum page_state),
                          int (*work)(struct idle *idle), struct error *error)
{
    int rc = 0;

    idle->n = 0;
    for (uint64_t i = 0; rc == 0 && i < idle->set->n; i++) {
        if (wanted((enum page_state)idle->set->state[i]))
            idle->index[idle->n++] = i;
        if (idle->n == BATCH_PAGES || (i + 1 == idle->set->n && idle->n > 0)) {
            rc = work(idle);
            idle->n = 0;
        }
    }
    return rc < 0 ? error_set(error, rc, "page_idle: %s", strerror(-rc)) : 0;
}

/* --- the table --------------------------------------------------------------------------------- */

static void idle_close(void *state)
{
    struct idle *idle = state;

    cleanup_close_at(&idle->pagemap_fd);
    cleanup_close_at(&idle->flags_fd);
    cleanup_close_at(&idle->bitmap_fd);
    cleanup_close_at(&idle->count_fd);
    free(idle);
}

/* Has KSM merged pages of this process (Linux 5.19), or of any on an older kernel? */
static bool ksm_merged_some(const struct target *target)
{
    uint64_t pages;

    if (fsroot_read_u64(target->root, &pages, "proc/%d/ksm_merging_pages", target->process->pid) <
            0 &&
        fsroot_read_u64(target->root, &pages, "sys/kernel/mm/ksm/pages_sharing") < 0)
        return false;
    return pages > 0;
}

static int open_files(struct idle *idle, struct error *error)
{
    const struct fsroot *root = idle->target->root;

    idle->bitmap_fd = idle_bitmap_open(root, error);
    if (idle->bitmap_fd < 0)
        return idle->bitmap_fd;
    idle->flags_fd = kpageflags_open(root, error);
    if (idle->flags_fd < 0)
        return idle->flags_fd;
    idle->pagemap_fd = pagemap_open(idle->target, error);
    if (idle->pagemap_fd < 0 || !ksm_merged_some(idle->target))
        return idle->pagemap_fd < 0 ? idle->pagemap_fd : 0;
    idle->count_fd = kpagecount_open(root, error);
    return idle->count_fd < 0 ? idle->count_fd : 0;
}

static int idle_open(const struct target *target, struct page_set *set, void **state,
                     struct error *error)
{
    struct idle *idle = calloc(1, sizeof(*idle));

    if (!idle)
        return error_set(error, -ENOMEM, "page_idle: out of memory");
    idle->target = target;
    idle->set = set;
    idle->bitmap_fd = idle->flags_fd = idle->pagemap_fd = idle->count_fd = -1;

    int rc = open_files(idle, error);

    if (rc < 0)
        idle_close(idle);
    else
        *state = idle;
    return rc;
}

/* A few, for KVM flushes only if it had the page mapped, and not every page of RAM is. */
#define FLUSH_DROPS 16

static void flush_kvm(const struct idle *idle)
{
    const struct page_set *set = idle->set;
    uint64_t step = set->n / FLUSH_DROPS + 1;

    for (uint64_t i = 0; i < set->n; i += step)
        if (set->state[i] == PAGE_IDLE &&
            pagemap_invalidate(idle->pagemap_fd, page_set_hva(set, i), BASE_PAGE_BYTES) < 0)
            return;
}

static bool can_be_advised(const struct ram_block *block)
{
    return !block->locked && block->backing != RAM_BACKING_HUGETLB;
}

/* All of RAM, also for a panel: the kernel flushes what it finds young again, and the panel's own pages, whose
 * translations are stale, are not; but where young pages lie more than 33 pages apart it flushes all
 * (arch/x86/mm/tlb.c). */
static void flush_tcg(const struct idle *idle)
{
    const struct guest_ram *ram = idle->target->ram;

    for (size_t b = 0; b < ram->n_blocks; b++) {
        struct iovec range = {.iov_base = (void *)(uintptr_t)ram->blocks[b].hva,
                              .iov_len = ram->blocks[b].bytes};

        if (can_be_advised(&ram->blocks[b]) && !advice_splits(idle->target->root, &ram->blocks[b]))
            process_advise(idle->target->process->pidfd, ADVISE_COLD, &range, 1);
    }
}

/* Best effort: what cannot be flushed is as it would be without. */
static void flush_tlb(const struct idle *idle)
{
    if (idle->target->process->accel == ACCEL_KVM)
        flush_kvm(idle);
    else
        flush_tcg(idle);
}

static int idle_mark(void *state, struct error *error)
{
    int rc = for_each_batch(state, page_any, mark_batch, error);

    if (rc == 0)
        flush_tlb(state);
    return rc;
}

static int idle_rearm(void *state, struct error *error)
{
    int rc = for_each_batch(state, page_needs_rearm, mark_batch, error);

    if (rc == 0)
        flush_tlb(state);
    return rc;
}

static int idle_collect(void *state, struct tally *tally, struct error *error)
{
    struct idle *idle = state;
    int rc = for_each_batch(idle, page_any, collect_batch, error);

    if (rc == 0)
        page_set_tally(idle->set, tally);
    return rc;
}

/* Marks a few pages for real: of those that are present at least one must take the mark. */
static int judge_trial(const struct page_set *set, struct error *why)
{
    uint64_t count[PAGE_TOUCHED + 1] = {0};

    for (uint64_t i = 0; i < set->n; i++)
        count[set->state[i]]++;
    if (count[PAGE_IDLE] > 0)
        return 0;
    if (count[PAGE_UNMEASURABLE] > 0)
        return error_set(why, -ENOTSUP,
                         "none of %llu pages takes the idle mark (hugetlb pages are not "
                         "on an LRU list; others may be pinned or merged)",
                         (unsigned long long)count[PAGE_UNMEASURABLE]);
    return error_set(why, -ENODATA, "none of %llu pages looked at is resident",
                     (unsigned long long)set->n);
}

static int idle_host(const struct fsroot *root, struct error *why)
{
    cleanup_close int bitmap_fd = idle_bitmap_open(root, why);

    if (bitmap_fd < 0)
        return bitmap_fd;

    cleanup_close int flags_fd = kpageflags_open(root, why);

    return flags_fd < 0 ? flags_fd : 0;
}

static int idle_probe(const struct target *target, struct error *why)
{
    struct page_set set;
    void *state = NULL;
    int rc = page_set_panel(&set, target->ram, 1024, target->process->start_ticks);

    if (rc < 0)
        return error_set(why, rc, "out of memory");
    rc = idle_open(target, &set, &state, why);
    if (rc == 0) {
        rc = idle_mark(state, why);
        if (rc == 0)
            rc = judge_trial(&set, why);
        idle_close(state);
    }
    page_set_free(&set);
    return rc;
}

const struct method method_idle = {
    .name = "idle",
    .summary = "accessed bits of host and KVM page tables, page by page, by page_idle",
    .census = true,
    .panel = true,
    .needs_pages = true,
    .host = idle_host,
    .probe = idle_probe,
    .open = idle_open,
    .mark = idle_mark,
    .collect = idle_collect,
    .rearm = idle_rearm,
    .close = idle_close,
};
