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
#include "wss/idle_walk.h"
#include "wss/method.h"

#include "base/array.h"
#include "base/page_sizes.h"
#include "measure/kernel/idle_bitmap.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Frames that did not take the mark, ascending within each batch, and sorted at the end. */
struct lost {
    uint64_t *head;
    size_t n;
};

static int lost_add(struct lost *lost, uint64_t head)
{
    if (lost->n > 0 && lost->head[lost->n - 1] == head)
        return 0;

    uint64_t *grown = array_grow(lost->head, lost->n, sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    lost->head = grown;
    lost->head[lost->n++] = head;
    return 0;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static bool is_lost(const struct lost *lost, uint64_t head)
{
    return lost->n > 0 && bsearch(&head, lost->head, lost->n, sizeof(head), by_number);
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
        qsort(lost->head, lost->n, sizeof(*lost->head), by_number);
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
