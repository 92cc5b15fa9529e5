// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file idle_walk.h  The page frames behind a process, a batch at a time, as the idle bitmap wants
 * them: heads, ascending. */
#pragma once

#include "measure/kernel/kpageflags.h"
#include "wss/subject.h"

#include <stddef.h>
#include <stdint.h>

/** Base pages: of 4 KiB 128 MiB of memory, for some 1 MiB of ours. */
#define IDLE_WALK_BATCH 32768

struct idle_walk {
    int bitmap_fd, flags_fd, pagemap_fd;
    uint64_t *pfn; /* of the batch's present pages */
    size_t n;
    uint64_t *entry; /* of the pagemap */
    uint64_t *head;  /* idle_walk_trackable() */
    uint64_t *late;  /* likewise */
    size_t n_late;
    uint64_t *flags; /* room for the batch */
    uint8_t *bit;    /* likewise */
    size_t zero_pages;
    struct folio folio; /* the last that was looked for */
    unsigned guess;     /* its order: that of the next too, most likely */
};

/**
 * Calls @p work for each batch of present pages, with their frames in walk->pfn, ascending. hugetlb
 * pages are left out, as they are from RSS; a page that the process maps twice is there twice, as
 * it is in RSS. Between two pieces of the pagemap, of a batch each, it looks whether it was
 * interrupted: address space may be reserved by the terabyte, and what is behind it, most of it
 * nothing, takes the kernel a while to say.
 * @return 0; -ESRCH when the process is gone, -EACCES when we may not look, -EPERM when we see no
 *         frame numbers, -EINTR when interrupted; another negative errno, or what @p work returned.
 */
int idle_walk(const struct wss_subject *subject, int (*work)(struct idle_walk *walk, void *context),
              void *context);

/**
 * The heads of those frames of the batch that page_idle can track, into walk->head, ascending, one
 * for each page; how many. Flags that cannot be read make a frame not trackable. Into walk->late,
 * those of walk->n_late others that it may be able to track later: a page that was faulted in, or
 * moved to another list, waits in a batch of its CPU's (31 pages in Linux 6.12) before the kernel
 * puts it on an LRU list.
 */
size_t idle_walk_trackable(struct idle_walk *walk);

/** How many pages of the batch are there, without the shared zero page; after
 * idle_walk_trackable(). */
size_t idle_walk_present(const struct idle_walk *walk);
