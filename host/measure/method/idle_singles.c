// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/method/idle_singles.h"

#include "base/bytes.h"
#include "measure/kernel/idle_bitmap.h"

/* Length of the first attempt. The runs grow as long as most pages are singles. */
#define FIRST_RUN 64

/* Linux 6.12 shows KPF_KSM on every anonymous page, so the flag counts only if KSM has merged
 * pages. */
static uint64_t flags_of_others(const struct frames *frames)
{
    return KPF_COMPOUND_HEAD | KPF_COMPOUND_TAIL | KPF_HUGE | KPF_NOPAGE | KPF_ZERO_PAGE |
           (frames->merged ? KPF_KSM : 0);
}

static void note_single(struct page_set *set, uint64_t i, enum page_state state)
{
    page_set_note_unit(set, i, 0, set->unit ? page_set_hva(set, i) : 0);
    set->state[i] = (uint8_t)state;
}

/* Settles n present pages from @p at on by their flags; returns how many of them are not
 * singles. */
static uint64_t settle_run(struct frames *frames, uint64_t at, uint64_t n)
{
    const uint64_t other = flags_of_others(frames);
    const uint64_t marked = KPF_LRU | KPF_IDLE;
    uint64_t before = frames->n_frames;

    for (uint64_t k = 0; k < n; k++) {
        uint64_t flags = frames->flags[k];

        if (flags & other)
            frames_take(frames, at + k);
        else
            note_single(frames->set, frames_page(frames, at + k),
                        (flags & marked) == marked ? PAGE_IDLE : PAGE_UNMEASURABLE);
    }
    return frames->n_frames - before;
}

static int mark_run(struct frames *frames, uint64_t at, uint64_t n, int bitmap_fd)
{
    for (uint64_t k = 0; k < n; k++)
        frames->pfn[k] = frames_pfn(frames, at + k);

    int rc = idle_bitmap_mark(bitmap_fd, frames->pfn, n);

    return rc < 0 ? rc : kpageflags_read(frames->flags_fd, frames->pfn, n, frames->flags);
}

/* A run ends at a word of the idle bitmap, so that no word is written twice. */
static uint64_t run_length(const struct frames *frames, uint64_t at, uint64_t wanted)
{
    uint64_t end = at + smaller(wanted, frames->n_present - at);

    while (end < frames->n_present &&
           frames_pfn(frames, end) / 64 == frames_pfn(frames, end - 1) / 64)
        end++;
    return end - at;
}

/* If most pages belong to huge ones, the flags of their tails are not worth reading: the pages
 * after such a run are taken as frames. */
int singles_mark(struct frames *frames, int bitmap_fd)
{
    uint64_t at = 0;
    int rc = 0;

    for (uint64_t run = FIRST_RUN; rc == 0 && at < frames->n_present; run *= 2) {
        uint64_t n = run_length(frames, at, run);

        rc = mark_run(frames, at, n, bitmap_fd);
        if (rc < 0)
            return rc;
        at += n;
        if (settle_run(frames, at - n, n) > n / 2)
            break;
    }
    while (rc == 0 && at < frames->n_present)
        frames_take(frames, at++);
    return rc;
}

static bool is_marked_single(const struct page_set *set, uint64_t i)
{
    return set->state[i] == PAGE_IDLE && set->order[i] == 0;
}

static void settle_idle(struct frames *frames, uint64_t k)
{
    uint64_t i = frames_page(frames, k);

    if (frames_has_moved(frames, i, frames_pfn(frames, k)))
        frames->set->state[i] = PAGE_UNMEASURABLE;
}

int singles_collect(struct frames *frames, int bitmap_fd)
{
    const struct page_set *set = frames->set;
    uint64_t n = 0;

    for (uint64_t k = 0; k < frames->n_present; k++)
        if (is_marked_single(set, frames_page(frames, k)))
            frames->pfn[n++] = frames_pfn(frames, k);

    int rc = idle_bitmap_read(bitmap_fd, frames->pfn, n, frames->bit);

    n = 0;
    for (uint64_t k = 0; rc == 0 && k < frames->n_present; k++) {
        uint8_t bit = is_marked_single(set, frames_page(frames, k)) ? frames->bit[n++]
                                                                    : FRAME_UNREAD;

        if (bit == 1)
            settle_idle(frames, k);
        else
            frames_take(frames, k)->bit = bit;
    }
    return rc;
}
