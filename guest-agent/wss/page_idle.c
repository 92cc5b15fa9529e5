// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file page_idle.c  Method `page_idle`: the idle flags of a process's page frames.
 *
 * Theory of operation. /proc/PID/smaps shows where the process has memory, its pagemap the frames,
 * and /proc/kpageflags which of them are tails of a large folio, whose idle flag is on its head.
 * Setting a frame's bit in the idle bitmap clears the accessed bits of all its mappings; a frame
 * whose bit is gone was touched. Reclaim is not disturbed, because the kernel keeps cleared
 * accessed bits for it as PG_young.
 *
 * What it cannot see: hugetlb pages, and pages that are on no LRU list (just faulted in, pinned,
 * isolated), always read "not idle". So the flag is read back after marking, and pages without it
 * are unmeasurable, never counted as touched. A page that others map, too (a library, shared
 * memory), counts as touched if any of them touches it. If a part of a huge page is touched, all of
 * it that the process maps counts. Marking does not flush the TLB either, see tlb_evict.h.
 *
 * Left behind: idle flags, which only page_idle and DAMON read.
 */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/compare.h"
#include "base/page_sizes.h"
#include "measure/kernel/idle_bitmap.h"
#include "measure/kernel/kpageflags.h"
#include "measure/kernel/pagemap_entry.h"
#include "measure/kernel/u64_file.h"
#include "proc/process_memory.h"
#include "wss/method.h"
#include "wss/subject.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the walk --------------------------------------------------------------------------------- */

/* Walks the page frames of a process in batches, as the idle bitmap needs them: heads, ascending.
 */

/* Base pages per batch: 128 MiB of memory with pages of 4 KiB, using some 1 MiB of buffers. */
#define IDLE_WALK_BATCH 32768

struct idle_walk {
    int bitmap_fd, flags_fd, pagemap_fd;
    uint64_t *pfn; /* frames of the batch's present pages */
    size_t n;
    uint64_t *entry; /* entries of the pagemap */
    uint64_t *head;  /* trackable frames: idle_walk_trackable() */
    uint64_t *late;  /* frames that may become trackable */
    size_t n_late;
    uint64_t *flags; /* buffer for the batch */
    uint8_t *bit;    /* another buffer for the batch */
    size_t zero_pages;
    struct folio folio; /* the last folio that was looked up */
    unsigned guess;     /* its order, which is likely to be the next one's, too */
};

#define BRIDGE 8 /* reading this many unneeded flags costs less than a system call */

/* Virtual pages. */
struct range {
    uint64_t first, end;
};

/* The walk, and the function called for each batch. */
struct visit {
    struct idle_walk walk;
    struct range *range; /* mappings with resident pages */
    size_t n_ranges;
    const volatile int *interrupted;
    int (*work)(struct idle_walk *walk, void *context);
    void *context;
};

static int finish_batch(struct visit *visit)
{
    struct idle_walk *walk = &visit->walk;

    if (walk->n == 0)
        return 0;
    qsort(walk->pfn, walk->n, sizeof(*walk->pfn), compare_u64);
    walk->folio = (struct folio){.head = UINT64_MAX};

    int rc = visit->work(walk, visit->context);

    walk->n = 0;
    return rc;
}

/* Takes the present pages among @p n pages, beginning with virtual page @p first. */
static int take_pages(struct idle_walk *walk, uint64_t first, uint64_t n)
{
    int rc = u64_file_read(walk->pagemap_fd, first, n, walk->entry);

    for (uint64_t i = 0; rc == 0 && i < n; i++) {
        uint64_t entry = walk->entry[i];

        if (!(entry & PAGEMAP_PRESENT))
            continue;
        if (PAGEMAP_PFN(entry) == 0)
            return -EPERM;
        walk->pfn[walk->n++] = PAGEMAP_PFN(entry);
    }
    return rc;
}

/* Collects all mappings first: smaps is read in pieces, and the longer that takes, the more
 * mappings change. */
static int note_vma(const struct vma *vma, void *context)
{
    struct visit *visit = context;

    if (vma->rss_bytes == 0 || vma->hugetlb)
        return 0;

    return array_put(&visit->range, &visit->n_ranges,
                     &(struct range){base_pages(vma->start), base_pages(vma->end)},
                     sizeof(*visit->range));
}

static int walk_range(struct visit *visit, const struct range *range)
{
    uint64_t at = range->first;
    int rc = 0;

    while (rc == 0 && at < range->end) {
        uint64_t room = IDLE_WALK_BATCH - visit->walk.n;
        uint64_t n = range->end - at < room ? range->end - at : room;

        if (wss_interrupted(visit->interrupted))
            return -EINTR;
        rc = take_pages(&visit->walk, at, n);
        at += n;
        if (rc == 0 && visit->walk.n == IDLE_WALK_BATCH)
            rc = finish_batch(visit);
    }
    return rc;
}

static void close_walk(struct idle_walk *walk)
{
    cleanup_close_at(&walk->bitmap_fd);
    cleanup_close_at(&walk->flags_fd);
    cleanup_close_at(&walk->pagemap_fd);
    free(walk->pfn);
    free(walk->entry);
    free(walk->head);
    free(walk->late);
    free(walk->flags);
    free(walk->bit);
}

static int open_walk(const struct wss_subject *subject, struct idle_walk *walk)
{
    char path[PROCESS_PATH];

    *walk = (struct idle_walk){
        .bitmap_fd = idle_bitmap_open(subject->root, NULL),
        .flags_fd = kpageflags_open(subject->root, NULL),
        .pagemap_fd = fsroot_openf(subject->root, O_RDONLY, "%s",
                                   process_path(subject->root, subject->pid, "pagemap", path)),
        .pfn = malloc(IDLE_WALK_BATCH * sizeof(*walk->pfn)),
        .entry = malloc(IDLE_WALK_BATCH * sizeof(*walk->entry)),
        .head = malloc(IDLE_WALK_BATCH * sizeof(*walk->head)),
        .late = malloc(IDLE_WALK_BATCH * sizeof(*walk->late)),
        .flags = malloc(IDLE_WALK_BATCH * sizeof(*walk->flags)),
        .bit = malloc(IDLE_WALK_BATCH),
        .guess = huge_page_order(),
    };
    if (walk->pagemap_fd < 0)
        return walk->pagemap_fd == -ENOENT ? -ESRCH : walk->pagemap_fd;
    if (walk->bitmap_fd < 0 || walk->flags_fd < 0)
        return walk->bitmap_fd < 0 ? walk->bitmap_fd : walk->flags_fd;
    return walk->pfn && walk->entry && walk->head && walk->late && walk->flags && walk->bit
               ? 0
               : -ENOMEM;
}

/*
 * Calls @p work for each batch of present pages, with their frames in walk->pfn, ascending. As in
 * RSS, hugetlb pages are excluded, and a page that the process maps twice appears twice.
 * Interruption is checked after each batch of the pagemap, because a process may reserve terabytes
 * of address space, whose empty entries take the kernel long to report.
 * @return 0; -ESRCH if the process is gone, -EACCES if it may not be read, -EPERM if frame numbers
 *         are hidden, -EINTR if interrupted; another negative errno, or the result of @p work.
 */
static int idle_walk(const struct wss_subject *subject,
                     int (*work)(struct idle_walk *walk, void *context), void *context)
{
    struct visit visit = {.interrupted = subject->interrupted, .work = work, .context = context};
    int rc = open_walk(subject, &visit.walk);

    if (rc == 0)
        rc = process_smaps_walk(subject->root, subject->pid, note_vma, &visit);
    for (size_t i = 0; rc == 0 && i < visit.n_ranges; i++)
        rc = walk_range(&visit, &visit.range[i]);
    if (rc == 0)
        rc = finish_batch(&visit);
    free(visit.range);
    close_walk(&visit.walk);
    return rc;
}

/* Finds the folio of a frame; a frame whose folio was split meanwhile is its own folio. */
static void find_folio(struct idle_walk *walk, uint64_t pfn, uint64_t flags)
{
    const struct folio *last = &walk->folio;

    if (pfn >= last->head && pfn - last->head < 1ULL << last->order)
        return;
    if (kpageflags_folio(walk->flags_fd, pfn, flags, walk->guess, &walk->folio) == 0)
        walk->guess = walk->folio.order;
    else
        walk->folio = (struct folio){.head = pfn, .flags = flags};
}

/*
 * Puts the heads of the batch's frames that page_idle can track into walk->head, ascending, one for
 * each page, and returns their number. Frames whose flags cannot be read are not trackable. Puts
 * the heads of walk->n_late other frames, which may become trackable, into walk->late: a page that
 * was faulted in, or moved to another list, waits in a per-CPU batch (31 pages in Linux 6.12)
 * before the kernel puts it on an LRU list.
 */
static size_t idle_walk_trackable(struct idle_walk *walk)
{
    size_t n = 0;

    walk->zero_pages = walk->n_late = 0;
    if (u64_file_gather(walk->flags_fd, walk->pfn, walk->n, BRIDGE, walk->flags) < 0) {
        memcpy(walk->late, walk->pfn, walk->n * sizeof(*walk->late));
        walk->n_late = walk->n;
        return 0;
    }
    for (size_t i = 0; i < walk->n; i++) {
        uint64_t head = walk->pfn[i];
        uint64_t flags = walk->flags[i];

        if (flags & (KPF_COMPOUND_HEAD | KPF_COMPOUND_TAIL)) {
            find_folio(walk, head, flags);
            head = walk->folio.head;
            flags |= walk->folio.flags;
        }
        walk->zero_pages += (flags & KPF_ZERO_PAGE) != 0;
        if (flags & (KPF_HUGE | KPF_NOPAGE | KPF_ZERO_PAGE))
            continue;
        if (flags & KPF_LRU)
            walk->head[n++] = head;
        else
            walk->late[walk->n_late++] = head;
    }
    return n;
}

/* The number of present pages in the batch, without the shared zero page. Call it after
 * idle_walk_trackable(). */
static size_t idle_walk_present(const struct idle_walk *walk)
{
    return walk->n - walk->zero_pages;
}

/* Frames that did not take the mark, ascending within each batch, and sorted at the end. */
struct lost {
    uint64_t *head;
    size_t n;
};

static int lost_add(struct lost *lost, uint64_t head)
{
    if (lost->n > 0 && lost->head[lost->n - 1] == head)
        return 0;

    return array_put(&lost->head, &lost->n, &head, sizeof(*lost->head));
}

static bool is_lost(const struct lost *lost, uint64_t head)
{
    return lost->n > 0 && bsearch(&head, lost->head, lost->n, sizeof(head), compare_u64);
}

static void forget_marks(void *state)
{
    struct lost *lost = state;

    if (lost)
        free(lost->head);
    free(lost);
}

/* Marks the frames of a batch, and notes those that did not take the mark. */
static int mark_batch(struct idle_walk *walk, void *context)
{
    struct lost *lost = context;
    size_t n = idle_walk_trackable(walk);
    int rc = idle_bitmap_mark(walk->bitmap_fd, walk->head, n);

    if (rc == 0)
        rc = kpageflags_read(walk->flags_fd, walk->head, n, walk->flags);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (!(walk->flags[i] & KPF_IDLE))
            rc = lost_add(lost, walk->head[i]);
    /* when they are read, they may be on a list without a mark, and would seem touched */
    for (size_t i = 0; rc == 0 && i < walk->n_late; i++)
        rc = lost_add(lost, walk->late[i]);
    return rc;
}

static int mark_frames(const struct wss_subject *subject, void **state)
{
    struct lost *lost = *state ? *state : calloc(1, sizeof(*lost));

    if (!lost)
        return -ENOMEM;
    *state = lost;
    lost->n = 0;

    int rc = idle_walk(subject, mark_batch, lost);

    if (lost->n > 1)
        qsort(lost->head, lost->n, sizeof(*lost->head), compare_u64);
    return rc;
}

struct counting {
    const struct lost *lost;
    uint64_t touched_pages, unmeasurable_pages;
};

static int count_batch(struct idle_walk *walk, void *context)
{
    struct counting *counting = context;
    size_t n = idle_walk_trackable(walk);
    int rc = idle_bitmap_read(walk->bitmap_fd, walk->head, n, walk->bit);

    counting->unmeasurable_pages += idle_walk_present(walk) - n;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        bool unknown = walk->bit[i] == IDLE_BITMAP_UNKNOWN ||
                       (!walk->bit[i] && is_lost(counting->lost, walk->head[i]));

        counting->unmeasurable_pages += unknown;
        counting->touched_pages += !unknown && !walk->bit[i];
    }
    return rc;
}

static int read_touched(const struct wss_subject *subject, void *state, struct wss_reading *reading)
{
    struct counting counting = {.lost = state};
    int rc = idle_walk(subject, count_batch, &counting);

    reading->memory.referenced_bytes = counting.touched_pages * base_page_bytes();
    reading->unmeasurable_bytes = counting.unmeasurable_pages * base_page_bytes();
    return rc;
}

static int check_page_idle(const struct fsroot *root, struct error *why)
{
    int fd = idle_bitmap_open(root, why);

    if (fd < 0)
        return fd;
    close(fd);
    fd = kpageflags_open(root, why);
    if (fd < 0)
        return fd;
    close(fd);
    return 0;
}

const struct wss_method wss_page_idle = {
    .name = "page_idle",
    .check = check_page_idle,
    .mark = mark_frames,
    .read = read_touched,
    .forget = forget_marks,
};
