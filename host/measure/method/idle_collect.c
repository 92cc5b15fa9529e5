// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/method/idle_collect.h"

#include "measure/damon_taken.h"
#include "measure/kernel/collapses.h"
#include "measure/kernel/idle_bitmap.h"
#include "measure/kernel/kpageflags.h"
#include "measure/kernel/pagemap.h"
#include "measure/method/idle_singles.h"

/* A page that was present and is gone was taken away (balloon, reclaim): it is no longer
 * resident. */
static void lost_at_collect(struct page_set *set, uint64_t i, enum page_state state)
{
    enum page_state was = (enum page_state)set->state[i];

    if (state != PAGE_UNMEASURABLE)
        set->state[i] = (uint8_t)page_lost(was, state);
    else if (was != PAGE_TOUCHED)
        set->state[i] = PAGE_UNMEASURABLE;
}

static bool keep_open(struct page_set *set, const struct frame *frame)
{
    return set->state[frame->i] != PAGE_TOUCHED && set->state[frame->i] != PAGE_UNMEASURABLE;
}

static int read_unread(struct idle *idle)
{
    struct frames *frames = &idle->frames;
    uint64_t n = 0;

    for (uint64_t i = 0; i < frames->n_frames; i++)
        if (frames->frame[i].bit == FRAME_UNREAD)
            frames->pfn[n++] = frames->frame[i].pfn;

    int rc = idle_bitmap_read(idle->bitmap_fd, frames->pfn, n, frames->bit);

    n = 0;
    for (uint64_t i = 0; rc == 0 && i < frames->n_frames; i++)
        if (frames->frame[i].bit == FRAME_UNREAD)
            frames->frame[i].bit = frames->bit[n++];
    return rc;
}

static bool keep_marked(struct page_set *set, const struct frame *frame)
{
    uint8_t *state = &set->state[frame->i];

    switch ((enum page_state) * state) {
    case PAGE_ABSENT:
    case PAGE_SWAPPED:
    case PAGE_GONE:
    case PAGE_GONE_TO_SWAP:
        /* it appeared within the window, because it was faulted in */
        if (!frame->zero_page) {
            *state = PAGE_TOUCHED;
            page_set_note_unit(set, frame->i, frame->order, frame->unit_hva);
        }
        return false;
    case PAGE_IDLE:
        /* a read of a hole maps the zero page, which is no memory of the guest */
        if (frame->zero_page) {
            *state = PAGE_ABSENT;
            return false;
        }
        if (frame->order > set->order[frame->i] || !frame->trackable) {
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

static bool drop_untold(struct page_set *set, const struct frame *frame)
{
    set->state[frame->i] = PAGE_UNMEASURABLE;
    page_set_note_unit(set, frame->i, frame->order, frame->unit_hva);
    return false;
}

/* Handles a page that came as part of a huge page, which khugepaged may have made. */
static bool keep_faulted_in(struct page_set *set, const struct frame *frame)
{
    enum page_state state = (enum page_state)set->state[frame->i];

    if (frame->order == 0 || frame->zero_page || (state != PAGE_ABSENT && state != PAGE_SWAPPED))
        return true;
    return drop_untold(set, frame);
}

/* Handles a page that came back from swap, which swapoff may have brought. */
static bool keep_not_swapped(struct page_set *set, const struct frame *frame)
{
    return set->state[frame->i] != PAGE_SWAPPED || drop_untold(set, frame);
}

/* A huge page may be mapped page by page without being split itself. The kernel is queried once for
 * each, and only if some mapping was split on this host. */
static bool is_mapped_huge(struct idle *idle, const struct frame *frame)
{
    struct page_mapping mapping = {0};

    if (idle->last.hva != frame->unit_hva) {
        pagemap_mapping(idle->frames.pagemap_fd, page_set_hva(idle->set, frame->i), &mapping);
        idle->last = (struct unit_mapping){.hva = frame->unit_hva, .huge = mapping.huge};
    }
    return idle->last.huge;
}

/* Returns true if the page's mapping may have been dropped meanwhile, together with an earlier
 * touch. */
static bool may_be_forgotten(struct idle *idle, const struct frame *frame)
{
    if (!idle->frames.was)
        return false;
    return frame->moved || frame->order < idle->set->order[frame->i] ||
           (frame->order >= huge_page_order() && idle->splits_more && !is_mapped_huge(idle, frame));
}

/* Applies the bits of the remaining frames; those that read as touched remain. */
static bool keep_touched(struct page_set *set, const struct frame *frame)
{
    if (frame->bit == IDLE_BITMAP_UNKNOWN)
        set->state[frame->i] = PAGE_UNMEASURABLE;
    return frame->bit == 0;
}

static void drop_forgotten(struct idle *idle)
{
    for (uint64_t i = 0; i < idle->frames.n_frames; i++) {
        const struct frame *frame = &idle->frames.frame[i];

        if (frame->bit == 1 && may_be_forgotten(idle, frame))
            idle->set->state[frame->i] = PAGE_UNMEASURABLE;
    }
}

/* A page that reclaim or compaction has isolated from its LRU list reads as touched, though its
 * mappings were not checked (mm/page_idle.c, page_idle_get_folio()). It still has its idle flag; a
 * check clears that flag on a touched page. DAMON sets it again, which it does to pages on LRU
 * lists only. */
static bool was_checked(const struct idle *idle, const struct frame *frame, uint64_t flags)
{
    return !(flags & KPF_IDLE) || damon_has_sampled(idle->target, &idle->reading, frame->unit_hva,
                                                    base_page_bytes() << frame->order);
}

static int settle_touched(struct idle *idle)
{
    struct frames *frames = &idle->frames;
    uint64_t n = 0;

    for (uint64_t i = 0; i < frames->n_frames; i++) /* the pages of a huge one have one flag */
        if (n == 0 || frames->pfn[n - 1] != frames->frame[i].pfn)
            frames->pfn[n++] = frames->frame[i].pfn;

    int rc = kpageflags_read(frames->flags_fd, frames->pfn, n, frames->flags);

    n = 0;
    for (uint64_t i = 0; rc == 0 && i < frames->n_frames; i++) {
        const struct frame *frame = &frames->frame[i];

        n += frames->pfn[n] != frame->pfn;
        idle->set->state[frame->i] = was_checked(idle, frame, frames->flags[n]) ? PAGE_TOUCHED
                                                                                : PAGE_UNMEASURABLE;
    }
    return rc;
}

/* Reads the bits first, because most pages are idle: a frame whose bit is set is on an LRU list and
 * the head of its folio, whatever it was at the beginning, so its flags need not be read. A huge
 * page has its bit at its head, which the flags show. */
int idle_collect_batch(struct idle *idle)
{
    struct frames *frames = &idle->frames;
    int rc = idle->merges ? frames_read(frames, lost_at_collect)
                          : frames_map(frames, lost_at_collect);

    if (rc == 0 && !idle->merges)
        rc = singles_collect(frames, idle->bitmap_fd);
    if (rc < 0)
        return rc;
    frames_filter(frames, keep_open);
    rc = frames_resolve(frames);
    if (rc < 0)
        return rc;
    if (idle->swapoff)
        frames_filter(frames, keep_not_swapped);
    if (collapses_read(idle->target->root) != idle->collapses)
        frames_filter(frames, keep_faulted_in);
    frames_filter(frames, keep_marked);
    rc = read_unread(idle);
    if (rc < 0)
        return rc;
    drop_forgotten(idle);
    frames_filter(frames, keep_touched);
    return settle_touched(idle);
}
