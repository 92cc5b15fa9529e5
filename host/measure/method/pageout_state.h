// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file pageout_state.h  The state of method `pageout` for one page set, and the pages of several
 * sets that are marked at once; for the files of the method only. */
#pragma once

#include "guest/domain/qemu_io.h"
#include "guest/ram/target.h"
#include "measure/kernel/backing_file.h"
#include "measure/method/sentinels.h"
#include "measure/page_merge.h"

struct pageout {
    const struct target *target;
    struct page_set *set;
    int calls; /* number of calls that unmap a touched page, see calls_for() */
    int pagemap_fd;
    int flags_fd;
    int count_fd;      /* /proc/kpagecount: number of mappings of each frame */
    int *file_fds;     /* one for each RAM block */
    bool *advised;     /* pages that the marking under way covers */
    uint64_t *entry;   /* pagemap entries of the set */
    struct qemu_io io; /* QEMU's I/O when the page set was last marked */
    /* another process unmaps pages, so the next marking covers all pages, and their neighbours */
    bool others_unmap;
    uint16_t *neighbours; /* for each page, the mapped pages of its aligned range, one bit each */
    struct sentinels sentinels; /* for a TCG guest */
    bool *was_unmapped;         /* at mark the page was in the file, and already unmapped */
    bool *was_read;             /* read by others, since it was marked */
    bool *came;                 /* absent when it was marked, and mapped by a fault since */
    bool readers;               /* other processes had read pages at the last reading */
};

/* Sets of one target that are marked at once, through the descriptors of the first set. */
struct marking {
    void *const *states;
    const struct page_merge *merge;
};

typedef bool (*page_test)(const struct pageout *pageout, uint64_t i);

static inline struct pageout *state_at(const struct marking *marking, struct page_place place)
{
    return marking->states[place.set];
}

static inline bool is_wanted(const struct marking *marking, uint64_t k, page_test wanted)
{
    const struct page_place place = marking->merge->place[k];

    return wanted(state_at(marking, place), place.i);
}

static inline bool is_idle_advised(const struct pageout *pageout, uint64_t i)
{
    return pageout->advised[i] && pageout->set->state[i] == PAGE_IDLE;
}

/* One walk for all cohorts, through the descriptors of one of them. */
struct ram_walk {
    const struct pageout *by;
    struct file_walk file;
};
