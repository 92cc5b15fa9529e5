// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file group_frames.h  Measures which memory of control groups is touched within a window, by
 * page_idle over the page frames that are charged to them.
 *
 * Theory of operation. For each frame, /proc/kpagecgroup has the group that it is charged to, and
 * /proc/kpageflags its flags. One pass over both counts the frames of each group by kind and draws
 * a random sample of each kind (reservoir sampling: J. S. Vitter, ACM TOMS 11, 1985, algorithm R).
 * The frames drawn are marked in the idle bitmap, and read at the end of the window. As in
 * method/idle.c the mark belongs to the head of a folio, and only frames that kpageflags then shows
 * as idle are measurable.
 *
 * A frame that was freed or charged to another group meanwhile counts as gone: it is not known
 * whether it was touched before. Memory that was charged within the window is not in the figures.
 * Clearing an accessed bit does not flush the TLB: see method/tlb_flush.h for guests. If a process
 * stays on its CPU for the whole window, it may touch memory through a cached translation; that
 * memory reads as idle.
 *
 * Source: Documentation/admin-guide/mm/idle_page_tracking.rst, pagemap.rst.
 */
#pragma once

#include "measure/frame_set.h"
#include "measure/kernel/cgroup_tree.h"

enum frame_kind {
    FRAME_GUEST_RAM, /* RAM of a guest on this host, in whatever group it is charged */
    FRAME_ANON,      /* anonymous memory: heaps, stacks */
    FRAME_SHMEM,     /* tmpfs, memfd, System V shared memory */
    FRAME_FILE,      /* page cache */
    FRAME_KINDS,
};

/** "guest-ram", "anon", "shmem", "file". */
const char *frame_kind_name(enum frame_kind kind);

/** Findings for one kind of memory in one group, in frames, which are base pages. */
struct frames_seen {
    uint64_t frames; /* charged to the group when marking began */
    uint64_t drawn;
    uint64_t units; /* number of folios among these frames */
    uint64_t touched;
    uint64_t unmeasurable; /* on no LRU list, or part of a folio that was split or made meanwhile */
    uint64_t gone;
};

struct group_seen {
    struct frames_seen kinds[FRAME_KINDS];
    /* on no LRU list, and neither mapped nor cached: memory of the kernel */
    uint64_t kernel_frames;
};

struct group_scan; /* opaque */

/**
 * Returns true if memory of that kind may be touched without a trace on this host. A read() from
 * the page cache or tmpfs sets no accessed bit. It calls folio_mark_accessed(), which clears the
 * idle flag, but under MGLRU returns before that (mm/swap.c). A write() to tmpfs leaves no trace
 * for the same reason (mm/shmem.c).
 */
bool group_scan_misses_calls(const struct fsroot *root, enum frame_kind kind);

/** Checks that this kernel has all that is needed, and that this process may read it. 0; -ENOENT,
 * -EACCES: the message names the missing part and the remedy; -ENOTSUP as page_sizes_check(). */
int group_scan_check(const struct fsroot *root, struct error *error);

/** Finds how many page frame numbers this host has. 0 or a negative errno. */
int group_scan_frames(const struct fsroot *root, uint64_t *n_frames, struct error *error);

/** The members are borrowed until group_scan_free(). */
struct group_scan_plan {
    const struct cgroup_tree *tree;    /* the groups */
    const struct frame_set *guest_ram; /* the frames that are RAM of guests */
    /* frames that must not be marked, as heads of folios: those of panels that vmwssd follows */
    const struct frame_set *taken;
    uint64_t samples; /* frames to draw for each kind in each group; UINT64_MAX: all */
};

/**
 * Counts, draws and marks.
 * @return 0; -ENOENT the kernel has no page_idle or kpagecgroup; -EACCES; -ENOMEM. Free with
 *         group_scan_free().
 */
int group_scan_begin(const struct fsroot *root, const struct group_scan_plan *plan,
                     struct group_scan **out, struct error *error);

/** Reads which frames were touched since group_scan_begin(). 0 or a negative errno. */
int group_scan_collect(struct group_scan *scan, struct error *error);

/** The findings for group @p index of the tree. */
const struct group_seen *group_scan_seen(const struct group_scan *scan, size_t index);

void group_scan_free(struct group_scan *scan);
