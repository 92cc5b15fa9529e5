// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file idle_frames.h  From a batch of pages of a page_set to the page frames behind them, for
 * method `idle`.
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
    uint64_t pfn;      /* its own, and after frames_resolve() that of the head of its folio */
    uint64_t unit_hva; /* where the folio begins in the process */
    uint64_t i;        /* which page of the set */
    uint8_t bit;       /* of the idle bitmap, as of idle_bitmap_read(), once it has been read */
    uint8_t order;
    bool trackable;
    bool zero_page; /* the shared zero page: nothing of its own is behind it */
    bool unlisted;  /* by its kind in no generation: hugetlb, locked, a zero page */
    bool moved;     /* it is another frame than was remembered: accessed bits may be lost */
};

struct frames {
    const struct target *target;
    struct page_set *set;
    int pagemap_fd;
    int flags_fd;
    int count_fd;   /* /proc/kpagecount; -1: no merged page was seen */
    bool merged;    /* KSM has merged some: Linux 6.12 shows its flag on every page */
    uint64_t batch; /* so many pages at most, from frames_begin() to frames_end() */
    /* the batch, filled by the caller: */
    uint64_t n;      /* pages */
    uint64_t *index; /* where each is in the set, ascending */
    /* what is behind it, by frames_map(): */
    uint64_t n_present;
    const uint64_t *present; /* in ascending order; frames_pfn(), frames_page() */
    /* of these, what frames_take() has taken: */
    uint64_t n_frames;
    struct frame *frame;
    /* working space: */
    uint64_t *page;
    uint64_t *entry; /* of the pagemap */
    uint64_t *key[2];
    uint64_t *pfn;
    uint64_t *flags;
    uint8_t *bit;       /* of the idle bitmap */
    struct folio folio; /* the last one of more than one page: its tails follow one another */
    unsigned guess;     /* the order of the last one */
    uint16_t *was;      /* for every page of the set a hash of its frame as it was marked, 16 bits
                           of which one in 65,536 that moved is missed; NULL: accessed bits are
                           carried along */
};

/** Opens what is read; frames_close() also after a failure. */
int frames_open(struct frames *frames, const struct target *target, struct page_set *set,
                struct error *error);
void frames_close(struct frames *frames);

/**
 * Room for batches of frames->batch pages: as many as the set has, up to FRAMES_BATCH. 3 MiB for
 * the largest, so it is held while pages are looked at only: a daemon has thousands of page sets
 * open, and looks at one of them.
 * @return 0; -ENOMEM. frames_end() frees it.
 */
int frames_begin(struct frames *frames);
void frames_end(struct frames *frames);

/**
 * Reads the pagemap for the pages of the batch, and puts those that are present in the order of
 * their frames; none is taken yet. For each of the others @p lost is called with its state: absent,
 * swapped, or on its way to another frame, which is PAGE_UNMEASURABLE.
 * @return 0 or a negative errno.
 */
int frames_map(struct frames *frames,
               void (*lost)(struct page_set *set, uint64_t i, enum page_state state));

/** The frame number of the k-th present page, and which page of the set it is. */
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

/** Is page @p i behind another frame than frames_remember() noted? */
static inline bool frames_has_moved(const struct frames *frames, uint64_t i, uint64_t pfn)
{
    return frames->was && frames->was[i] != frames_hash(pfn);
}

/** Makes the k-th present page a frame, behind those taken before; k must ascend. */
struct frame *frames_take(struct frames *frames, uint64_t k);

/** frames_map(), and takes all. */
int frames_read(struct frames *frames,
                void (*lost)(struct page_set *set, uint64_t i, enum page_state state));

/** Notes the frame of each present page, for frames_has_moved(). */
void frames_remember(struct frames *frames);

/** Drops the frames for which @p keep answers false. */
void frames_filter(struct frames *frames,
                   bool (*keep)(struct page_set *set, const struct frame *frame));

/** Replaces each frame by the head of its folio and says whether page_idle can track it; the order
 *  stays ascending. 0 or a negative errno. */
int frames_resolve(struct frames *frames);

/** The frame numbers alone, frames->n_frames of them: for the idle bitmap. */
const uint64_t *frames_pfns(struct frames *frames);

/** Flags of the frames as they are now, in their order; NULL and the negative errno in @p rc. */
const uint64_t *frames_flags(struct frames *frames, int *rc);
