// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file idle_walk.h  Walks the page frames of a process in batches, as the idle bitmap needs them:
 * heads, ascending. */
#pragma once

#include "measure/kernel/kpageflags.h"
#include "wss/subject.h"

#include <stddef.h>
#include <stdint.h>

/** Base pages per batch: 128 MiB of memory with pages of 4 KiB, using some 1 MiB of buffers. */
#define IDLE_WALK_BATCH 32768

struct idle_walk {
    int bitmap_fd, flags_fd, pagemap_fd;
    uint64_t *pfn; /* frames of the batch's present pages */
    size_t n;
    uint64_t *entry; /* entries of the pagemap */
    uint64_t *head;  /* idle_walk_trackable() */
    uint64_t *late;  /* likewise */
    size_t n_late;
    uint64_t *flags; /* buffer for the batch */
    uint8_t *bit;    /* likewise */
    size_t zero_pages;
    struct folio folio; /* the last folio that was looked up */
    unsigned guess;     /* its order, which is likely to be the next one's, too */
};

/**
 * Calls @p work for each batch of present pages, with their frames in walk->pfn, ascending. As in
 * RSS, hugetlb pages are excluded, and a page that the process maps twice appears twice.
 * Interruption is checked after each batch of the pagemap, because a process may reserve terabytes
 * of address space, whose empty entries take the kernel long to report.
 * @return 0; -ESRCH if the process is gone, -EACCES if it may not be read, -EPERM if frame numbers
 *         are hidden, -EINTR if interrupted; another negative errno, or the result of @p work.
 */
int idle_walk(const struct wss_subject *subject, int (*work)(struct idle_walk *walk, void *context),
              void *context);

/**
 * Puts the heads of the batch's frames that page_idle can track into walk->head, ascending, one for
 * each page, and returns their number. Frames whose flags cannot be read are not trackable. Puts
 * the heads of walk->n_late other frames, which may become trackable, into walk->late: a page that
 * was faulted in, or moved to another list, waits in a per-CPU batch (31 pages in Linux 6.12)
 * before the kernel puts it on an LRU list.
 */
size_t idle_walk_trackable(struct idle_walk *walk);

/** The number of present pages in the batch, without the shared zero page. Call it after
 * idle_walk_trackable(). */
size_t idle_walk_present(const struct idle_walk *walk);
