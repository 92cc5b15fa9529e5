// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file idle_frames.h  Finds the page frames behind a batch of pages of a page_set, for method
 * `idle`.
 *
 * Batches bound the memory for any size of guest. Frames are in ascending order, so that neighbours
 * in kpageflags and in the idle bitmap are one transfer.
 */
#pragma once

#include "base/error.h"
#include "guest/ram/target.h"
#include "measure/kernel/kpageflags.h"
#include "measure/page_set.h"

#define FRAMES_BATCH_BITS \
    15 /* 128 MiB of RAM; one bitmap transfer when the frames are contiguous */
#define FRAMES_BATCH (1 << FRAMES_BATCH_BITS)

#define FRAME_UNREAD 255

/** One present page of the batch. */
struct frame {
    uint64_t pfn;      /* its own number; after frames_resolve(), that of the head of its folio */
    uint64_t unit_hva; /* begin of the folio in the process */
    uint64_t i;        /* its page in the set */
    /* its bit of the idle bitmap, as from idle_bitmap_read(), once it has been read */
    uint8_t bit;
    uint8_t order;
    bool trackable;
    bool zero_page; /* the shared zero page, which is no memory of the guest */
    bool unlisted;  /* a kind of page that is in no generation: hugetlb, locked, a zero page */
    bool moved;     /* the page has another frame than was remembered: accessed bits may be lost */
};

struct frames {
    const struct target *target;
    struct page_set *set;
    int pagemap_fd;
    int flags_fd;
    int count_fd;   /* /proc/kpagecount; -1: no merged page was seen */
    bool merged;    /* KSM has merged some pages: Linux 6.12 shows its flag on every page */
    uint64_t batch; /* largest number of pages, from frames_begin() to frames_end() */
    /* the batch, filled by the caller: */
    uint64_t n;      /* pages */
    uint64_t *index; /* position of each page in the set, ascending */
    /* the present pages of the batch, by frames_map(): */
    uint64_t n_present;
    const uint64_t *present; /* in ascending order; frames_pfn(), frames_page() */
    /* the frames that frames_take() has taken: */
    uint64_t n_frames;
    struct frame *frame;
    /* working space: */
    uint64_t *page;
    uint64_t *entry; /* entries of the pagemap */
    uint64_t *key[2];
    uint64_t *pfn;
    uint64_t *flags;
    uint8_t *bit;       /* bits of the idle bitmap */
    struct folio folio; /* the last folio of more than one page: its tails are consecutive */
    unsigned guess;     /* the order of the last folio */
    /* for every page of the set, a 16-bit hash of its frame when it was marked; it misses one in
     * 65,536 moved pages. NULL: accessed bits are carried along */
    uint16_t *was;
};

/** Opens the files; call frames_close() also after a failure. */
int frames_open(struct frames *frames, const struct target *target, struct page_set *set,
                struct error *error);
void frames_close(struct frames *frames);

/**
 * Allocates for batches of frames->batch pages: as many as the set has, up to FRAMES_BATCH. The
 * largest takes 3 MiB, so it is held only while pages are read: a daemon has thousands of page sets
 * open but reads one at a time.
 * @return 0; -ENOMEM. frames_end() frees it.
 */
int frames_begin(struct frames *frames);
void frames_end(struct frames *frames);

/**
 * Reads the pagemap for the pages of the batch, and sorts the present ones by their frames, without
 * taking any. Calls @p lost for each other page with its state: absent, swapped, or on its way to
 * another frame, which is PAGE_UNMEASURABLE.
 * @return 0 or a negative errno.
 */
int frames_map(struct frames *frames,
               void (*lost)(struct page_set *set, uint64_t i, enum page_state state));

/** The frame number of the k-th present page, and its page in the set. */
static inline uint64_t frames_pfn(const struct frames *frames, uint64_t k)
{
    return frames->present[k] >> FRAMES_BATCH_BITS;
}

static inline uint64_t frames_page(const struct frames *frames, uint64_t k)
{
    return frames->index[frames->present[k] % FRAMES_BATCH];
}

static inline uint16_t frames_hash(uint64_t pfn)
{
    return (uint16_t)((pfn * 0x9e3779b97f4a7c15ULL) >> 48);
}

/** Returns true if page @p i has another frame than frames_remember() noted. */
static inline bool frames_has_moved(const struct frames *frames, uint64_t i, uint64_t pfn)
{
    return frames->was && frames->was[i] != frames_hash(pfn);
}

/** Appends the k-th present page to the frames; k must ascend from call to call. */
struct frame *frames_take(struct frames *frames, uint64_t k);

/** Calls frames_map(), and takes all present pages. */
int frames_read(struct frames *frames,
                void (*lost)(struct page_set *set, uint64_t i, enum page_state state));

/** Notes the frame of each present page, for frames_has_moved(). */
void frames_remember(struct frames *frames);

/** Drops the frames for which @p keep returns false. */
void frames_filter(struct frames *frames,
                   bool (*keep)(struct page_set *set, const struct frame *frame));

/** Replaces each frame by the head of its folio and sets whether page_idle can track it; the order
 * stays ascending. 0 or a negative errno. */
int frames_resolve(struct frames *frames);

/** The frame numbers alone, frames->n_frames of them: for the idle bitmap. */
const uint64_t *frames_pfns(struct frames *frames);

/** Flags of the frames as they are now, in their order; NULL and the negative errno in @p rc. */
const uint64_t *frames_flags(struct frames *frames, int *rc);
