// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/method/idle_frames.h"

#include "base/cleanup.h"
#include "measure/kernel/carried_bits.h"
#include "measure/kernel/kpage_shared.h"
#include "measure/kernel/kpageflags.h"
#include "measure/kernel/ksm.h"
#include "measure/kernel/pagemap.h"
#include "measure/kernel/u64_file.h"

#include <errno.h>
#include <stdlib.h>

/* --- files ------------------------------------------------------------------------------------ */

int frames_open(struct frames *frames, const struct target *target, struct page_set *set,
                struct error *error)
{
    frames->target = target;
    frames->set = set;
    frames->guess = huge_page_order();
    frames->pagemap_fd = frames->count_fd = -1;
    frames->flags_fd = kpageflags_share(target->root, error);
    if (frames->flags_fd < 0)
        return frames->flags_fd;
    frames->pagemap_fd = pagemap_open(target, error);
    if (frames->pagemap_fd < 0)
        return frames->pagemap_fd;
    if (accessed_bits_are_carried(target))
        return 0;
    frames->was = calloc(set->n ? set->n : 1, sizeof(*frames->was));
    return frames->was ? 0 : error_set(error, -ENOMEM, "page_idle: out of memory");
}

void frames_close(struct frames *frames)
{
    frames_end(frames);
    free(frames->was);
    frames->was = NULL;
    cleanup_close_at(&frames->pagemap_fd);
    kpage_release(&frames->flags_fd);
    kpage_release(&frames->count_fd);
}

/* --- room ------------------------------------------------------------------------------------- */

int frames_begin(struct frames *frames)
{
    uint64_t n = frames->set->n < FRAMES_BATCH ? frames->set->n + 1 : FRAMES_BATCH;

    frames->batch = n;
    frames->merged = ksm_merged_pages(frames->target) > 0;
    frames->n = 0;
    frames->index = malloc(n * sizeof(*frames->index));
    frames->frame = malloc(n * sizeof(*frames->frame));
    frames->page = malloc(n * sizeof(*frames->page));
    frames->entry = malloc(n * sizeof(*frames->entry));
    frames->key[0] = malloc(n * sizeof(*frames->key[0]));
    frames->key[1] = malloc(n * sizeof(*frames->key[1]));
    frames->pfn = malloc(n * sizeof(*frames->pfn));
    frames->flags = malloc(n * sizeof(*frames->flags));
    frames->bit = malloc(n * sizeof(*frames->bit));
    if (frames->index && frames->frame && frames->page && frames->entry && frames->key[0] &&
        frames->key[1] && frames->pfn && frames->flags && frames->bit)
        return 0;
    frames_end(frames);
    return -ENOMEM;
}

void frames_end(struct frames *frames)
{
    free(frames->index);
    free(frames->frame);
    free(frames->page);
    free(frames->entry);
    free(frames->key[0]);
    free(frames->key[1]);
    free(frames->pfn);
    free(frames->flags);
    free(frames->bit);
    frames->index = frames->page = frames->entry = frames->pfn = frames->flags = NULL;
    frames->key[0] = frames->key[1] = NULL;
    frames->frame = NULL;
    frames->bit = NULL;
}

/* --- order ------------------------------------------------------------------------------------ */

#define DIGIT_BITS 11
#define DIGITS (1U << DIGIT_BITS)

/* One pass of a radix sort, by DIGIT_BITS bits of the keys from @p shift up. */
static void sort_by_digit(const uint64_t *from, uint64_t *to, uint64_t n, unsigned shift)
{
    uint32_t at[DIGITS] = {0};
    uint32_t sum = 0;

    for (uint64_t i = 0; i < n; i++)
        at[(from[i] >> shift) % DIGITS]++;
    for (unsigned digit = 0; digit < DIGITS; digit++) {
        uint32_t count = at[digit];

        at[digit] = sum;
        sum += count;
    }
    for (uint64_t i = 0; i < n; i++)
        to[at[(from[i] >> shift) % DIGITS]++] = from[i];
}

/* Sorts key[0], which holds frame numbers, each above the number of its page in the batch; returns
 * where the result is. Frames of a freshly booted guest are often in order already. In random
 * order, a page and period took 530 ns of user time with qsort() of whole frames, and takes 270
 * with this sort (65 in order); KVM's own work is 1 to 2 us. */
static const uint64_t *sort_keys(struct frames *frames)
{
    uint64_t *from = frames->key[0];
    uint64_t *to = frames->key[1];
    uint64_t all = 0;
    bool sorted = true;

    for (uint64_t i = 0; i < frames->n_present; i++) {
        sorted &= i == 0 || from[i - 1] < from[i];
        all |= from[i];
    }
    for (unsigned shift = FRAMES_BATCH_BITS; !sorted && shift < 64 && all >> shift;
         shift += DIGIT_BITS) {
        uint64_t *other = from;

        sort_by_digit(from, to, frames->n_present, shift);
        from = to;
        to = other;
    }
    return from;
}

/* --- reading ---------------------------------------------------------------------------------- */

void frames_remember(struct frames *frames)
{
    for (uint64_t k = 0; frames->was && k < frames->n_present; k++)
        frames->was[frames_page(frames, k)] = frames_hash(frames_pfn(frames, k));
}

static enum page_state without_frame(uint64_t entry)
{
    if (PAGEMAP_IN_MOTION(entry))
        return PAGE_UNMEASURABLE;
    return entry & PAGEMAP_SWAPPED ? PAGE_SWAPPED : PAGE_ABSENT;
}

/* The pages of a census are mostly consecutive. */
static int read_entries(struct frames *frames)
{
    const struct guest_ram *ram = frames->target->ram;
    uint64_t first = frames->index[0];

    if (!frames->set->page && frames->index[frames->n - 1] - first == frames->n - 1)
        return pagemap_read_range(frames->pagemap_fd, ram, first, frames->n, frames->entry);
    for (uint64_t i = 0; i < frames->n; i++)
        frames->page[i] = page_set_page(frames->set, frames->index[i]);
    return pagemap_read(frames->pagemap_fd, ram, frames->page, frames->n, frames->entry);
}

int frames_map(struct frames *frames,
               void (*lost)(struct page_set *set, uint64_t i, enum page_state state))
{
    int rc = frames->n > 0 ? read_entries(frames) : 0;
    uint64_t n = 0;

    for (uint64_t i = 0; rc == 0 && i < frames->n; i++) {
        uint64_t entry = frames->entry[i];

        if (entry & PAGEMAP_PRESENT)
            frames->key[0][n++] = PAGEMAP_PFN(entry) << FRAMES_BATCH_BITS | i;
        else
            lost(frames->set, frames->index[i], without_frame(entry));
    }
    frames->n_frames = 0;
    frames->n_present = n;
    frames->present = sort_keys(frames);
    return rc;
}

struct frame *frames_take(struct frames *frames, uint64_t k)
{
    struct frame *frame = &frames->frame[frames->n_frames++];
    uint64_t pfn = frames_pfn(frames, k);
    uint64_t i = frames_page(frames, k);

    *frame = (struct frame){
        .pfn = pfn, .i = i, .bit = FRAME_UNREAD, .moved = frames_has_moved(frames, i, pfn)};
    return frame;
}

int frames_read(struct frames *frames,
                void (*lost)(struct page_set *set, uint64_t i, enum page_state state))
{
    int rc = frames_map(frames, lost);

    for (uint64_t k = 0; rc == 0 && k < frames->n_present; k++)
        frames_take(frames, k);
    return rc;
}

void frames_filter(struct frames *frames,
                   bool (*keep)(struct page_set *set, const struct frame *frame))
{
    uint64_t kept = 0;

    for (uint64_t i = 0; i < frames->n_frames; i++)
        if (keep(frames->set, &frames->frame[i]))
            frames->frame[kept++] = frames->frame[i];
    frames->n_frames = kept;
}

const uint64_t *frames_pfns(struct frames *frames)
{
    for (uint64_t i = 0; i < frames->n_frames; i++)
        frames->pfn[i] = frames->frame[i].pfn;
    return frames->pfn;
}

const uint64_t *frames_flags(struct frames *frames, int *rc)
{
    *rc = kpageflags_read(frames->flags_fd, frames_pfns(frames), frames->n_frames, frames->flags);
    return *rc < 0 ? NULL : frames->flags;
}

/* --- folios ----------------------------------------------------------------------------------- */

/* After a folio of at least this many pages it pays to check the next one first: most likely it is
 * large, too. */
#define LARGE_ORDER 5
#define FIRST_RUN 64

static bool in_last_folio(const struct frames *frames, uint64_t pfn)
{
    return pfn >= frames->folio.head && pfn - frames->folio.head < 1ULL << frames->folio.order;
}

static void forget_folio(struct frames *frames)
{
    frames->folio = (struct folio){.head = UINT64_MAX};
}

/* Points frames->folio at the folio that holds @p pfn; -ENOENT when it was split meanwhile. */
static int find_folio(struct frames *frames, uint64_t pfn, uint64_t flags)
{
    if (in_last_folio(frames, pfn))
        return 0;

    int rc = kpageflags_folio(frames->flags_fd, pfn, flags, frames->guess, &frames->folio);

    if (rc < 0)
        frames->folio = (struct folio){.head = pfn, .flags = flags};
    else
        frames->guess = frames->folio.order;
    return rc;
}

/* An unknown count means merged. */
static bool is_merged(struct frames *frames, uint64_t pfn, uint64_t flags)
{
    uint64_t count;

    if (!frames->merged || !(flags & KPF_KSM))
        return false;
    if (frames->count_fd < 0)
        frames->count_fd = kpagecount_share(frames->target->root, NULL);
    return frames->count_fd < 0 || u64_file_gather(frames->count_fd, &pfn, 1, 0, &count) < 0 ||
           count > 1;
}

/* Turns a frame into the head of its folio and sets whether page_idle can track it. */
static int resolve_frame(struct frames *frames, struct frame *frame, uint64_t flags)
{
    uint64_t own_pfn = frame->pfn;

    if (flags & (KPF_COMPOUND_HEAD | KPF_COMPOUND_TAIL)) {
        int rc = find_folio(frames, own_pfn, flags);

        if (rc < 0 && rc != -ENOENT)
            return rc;
        frame->pfn = frames->folio.head;
        frame->order = (uint8_t)frames->folio.order;
        flags |= frames->folio.flags;
    }
    frame->unit_hva = page_set_hva(frames->set, frame->i) -
                      (own_pfn - frame->pfn) * base_page_bytes();
    frame->zero_page = flags & KPF_ZERO_PAGE;
    frame->unlisted = flags & (KPF_HUGE | KPF_UNEVICTABLE | KPF_NOPAGE | KPF_ZERO_PAGE);
    frame->trackable = (flags & KPF_LRU) && !(flags & (KPF_HUGE | KPF_NOPAGE)) &&
                       !is_merged(frames, own_pfn, flags);
    return 0;
}

/* Resolves the frames from @p at on that lie in the last folio, without reading anything. */
static uint64_t resolve_tails(struct frames *frames, uint64_t at)
{
    while (at < frames->n_frames && frames->folio.order > 0 &&
           in_last_folio(frames, frames->frame[at].pfn))
        resolve_frame(frames, &frames->frame[at++], KPF_COMPOUND_TAIL);
    return at;
}

/* Resolves the frames from *at up to @p end, or to the first large folio; sets *at to where it
 * ended. */
static int resolve_run(struct frames *frames, uint64_t *at, uint64_t end)
{
    uint64_t begin = *at;
    int rc = kpageflags_read(frames->flags_fd, frames->pfn + begin, end - begin, frames->flags);

    while (rc == 0 && *at < end && frames->folio.order < LARGE_ORDER) {
        rc = resolve_frame(frames, &frames->frame[*at], frames->flags[*at - begin]);
        ++*at;
    }
    return rc;
}

int frames_resolve(struct frames *frames)
{
    uint64_t run = FIRST_RUN;
    int rc = 0;

    forget_folio(frames); /* folios may have changed since the last batch */
    frames_pfns(frames);
    for (uint64_t at = 0; rc == 0 && at < frames->n_frames;) {
        uint64_t end = at + run < frames->n_frames ? at + run : frames->n_frames;

        rc = resolve_run(frames, &at, end);
        run = frames->folio.order >= LARGE_ORDER ? 1 : run * 2;
        at = resolve_tails(frames, at);
        forget_folio(frames);
    }
    return rc;
}
