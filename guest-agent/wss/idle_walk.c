// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file idle_walk.c  See idle_walk.h. */
#include "wss/idle_walk.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/page_sizes.h"
#include "measure/kernel/idle_bitmap.h"
#include "measure/kernel/pagemap_entry.h"
#include "measure/kernel/u64_file.h"
#include "proc/process_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

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

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static int finish_batch(struct visit *visit)
{
    struct idle_walk *walk = &visit->walk;

    if (walk->n == 0)
        return 0;
    qsort(walk->pfn, walk->n, sizeof(*walk->pfn), by_number);
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

    struct range *grown = array_grow(visit->range, visit->n_ranges, sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    visit->range = grown;
    visit->range[visit->n_ranges++] = (struct range){base_pages(vma->start), base_pages(vma->end)};
    return 0;
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

int idle_walk(const struct wss_subject *subject, int (*work)(struct idle_walk *walk, void *context),
              void *context)
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

size_t idle_walk_trackable(struct idle_walk *walk)
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

size_t idle_walk_present(const struct idle_walk *walk)
{
    return walk->n - walk->zero_pages;
}
