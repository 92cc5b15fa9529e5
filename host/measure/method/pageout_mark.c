// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/method/pageout_mark.h"

#include "base/cleanup.h"
#include "measure/kernel/advise.h"
#include "measure/kernel/kpageflags.h"
#include "measure/kernel/pagemap.h"
#include "measure/kernel/swaps.h"
#include "measure/kernel/u64_file.h"
#include "measure/method/pageout_around.h"
#include "measure/method/pageout_others.h"

#include <errno.h>
#include <string.h>

int pageout_check_swap(const struct fsroot *root, struct error *why)
{
    int active = swap_is_active(root);

    if (active < 0)
        return error_set(why, active, "/proc/swaps: %s", strerror(-active));
    if (active)
        return error_set(why, -ENOTSUP,
                         "swap is active: MADV_PAGEOUT would really swap guest pages out");
    return 0;
}

/* Reads the pagemap entries of the pages that are @p wanted. A page of a panel takes a system call
 * of its own if the next page is far; pages of several sets are nearer to each other. */
static int read_entries(const struct marking *marking, page_test wanted)
{
    const struct page_merge *merge = marking->merge;
    const struct pageout *first = marking->states[0];
    cleanup_free uint64_t *page = calloc(merge->n + 1, sizeof(*page));
    cleanup_free uint64_t *entry = malloc((merge->n + 1) * sizeof(*entry));
    cleanup_free uint64_t *at = malloc((merge->n + 1) * sizeof(*at));
    uint64_t n = 0;

    if (!page || !entry || !at)
        return -ENOMEM;
    for (uint64_t k = 0; k < merge->n; k++)
        if (is_wanted(marking, k, wanted)) {
            page[n] = merge->page[k];
            at[n++] = k;
        }

    int rc = pagemap_read(first->pagemap_fd, first->target->ram, page, n, entry);

    for (uint64_t k = 0; rc == 0 && k < n; k++) {
        const struct page_place place = merge->place[at[k]];

        state_at(marking, place)->entry[place.i] = entry[k];
    }
    return rc;
}

static bool is_advised(const struct pageout *pageout, uint64_t i)
{
    return pageout->advised[i];
}

static bool is_large(const struct pageout *pageout, uint64_t pfn)
{
    uint64_t flags;

    return kpageflags_read(pageout->flags_fd, &pfn, 1, &flags) == 0 &&
           (flags & (KPF_COMPOUND_HEAD | KPF_COMPOUND_TAIL));
}

static void note_page(struct pageout *pageout, uint64_t i, struct ram_walk *walk)
{
    struct page_set *set = pageout->set;
    bool mapped = pageout->entry[i] & PAGEMAP_PRESENT;
    bool held = mapped || pageout_in_file(walk, page_set_page(set, i));

    page_set_note_unit(set, i, 0, page_set_hva(set, i));
    if (set->state[i] != PAGE_IDLE) /* else the page was unmapped by this process */
        pageout->was_unmapped[i] = !mapped && held;
    set->state[i] = held ? PAGE_IDLE : PAGE_ABSENT;
    pageout->came[i] = false;
}

/* Advice for one page of a large folio splits it, also if the folio is not mapped by a PMD. */
static void leave_out_large(struct pageout *pageout, uint64_t i)
{
    if ((pageout->entry[i] & PAGEMAP_PRESENT) && is_large(pageout, PAGEMAP_PFN(pageout->entry[i])))
        pageout->set->state[i] = PAGE_UNMEASURABLE;
}

/* Advises the pages for which @p wanted returns true. */
static int advise_pages(const struct marking *marking, page_test wanted)
{
    const struct page_merge *merge = marking->merge;
    const struct pageout *first = marking->states[0];
    cleanup_free struct iovec *range = calloc(merge->n + 1, sizeof(*range));
    uint64_t n = 0;

    if (!range)
        return -ENOMEM;
    for (uint64_t k = 0; k < merge->n; k++)
        if (is_wanted(marking, k, wanted))
            range[n++] = (struct iovec){
                .iov_base = (void *)(uintptr_t)guest_ram_hva(first->target->ram, merge->page[k]),
                .iov_len = base_page_bytes()};
    return process_advise(first->target->process->pidfd, ADVISE_PAGEOUT, range, n);
}

static bool is_mapped(const struct pageout *pageout, uint64_t i)
{
    return pageout->advised[i] && pageout->set->state[i] == PAGE_IDLE &&
           (pageout->entry[i] & PAGEMAP_PRESENT);
}

/* Returns true if the kernel would have unmapped this frame. mm/madvise.c skips pages that are
 * mapped more than once, and pages that it cannot isolate from an LRU list. */
static bool can_be_unmapped(const struct pageout *pageout, uint64_t pfn)
{
    uint64_t flags;
    uint64_t count;

    return kpageflags_read(pageout->flags_fd, &pfn, 1, &flags) == 0 && (flags & KPF_LRU) &&
           u64_file_gather(pageout->count_fd, &pfn, 1, 0, &count) == 0 && count == 1;
}

/* Returns true if the page is still mapped, though the kernel would have unmapped it. */
static bool stayed_mapped(const struct pageout *pageout, uint64_t i)
{
    return is_mapped(pageout, i) && can_be_unmapped(pageout, PAGEMAP_PFN(pageout->entry[i]));
}

static int unmap_pages(const struct marking *marking)
{
    const struct pageout *first = marking->states[0];
    int rc = advise_pages(marking, is_mapped);

    if (rc == 0)
        rc = read_entries(marking, is_mapped);
    if (rc < 0 || first->calls == 1)
        return rc;
    rc = advise_pages(marking, stayed_mapped);
    return rc == 0 ? read_entries(marking, is_mapped) : rc;
}

static int unmap_advised(const struct marking *marking)
{
    struct ram_walk walk = {.by = marking->states[0]};
    int rc = read_entries(marking, is_advised);
    int64_t mapped;

    for (uint64_t k = 0; rc == 0 && k < marking->merge->n; k++) {
        const struct page_place place = marking->merge->place[k];

        if (is_wanted(marking, k, is_advised))
            note_page(state_at(marking, place), place.i, &walk);
    }
    mapped = rc == 0 ? pageout_map_around(marking) : rc;
    rc = mapped > 0 ? read_entries(marking, is_advised) : (int)mapped;
    for (uint64_t k = 0; rc == 0 && k < marking->merge->n; k++)
        if (is_wanted(marking, k, is_idle_advised))
            leave_out_large(state_at(marking, marking->merge->place[k]),
                            marking->merge->place[k].i);
    return rc == 0 ? unmap_pages(marking) : rc;
}

static void note_still_mapped(struct pageout *pageout)
{
    struct page_set *set = pageout->set;

    for (uint64_t i = 0; i < set->n; i++)
        if (is_mapped(pageout, i))
            set->state[i] = can_be_unmapped(pageout, PAGEMAP_PFN(pageout->entry[i]))
                                ? PAGE_TOUCHED /* it was unmapped, and mapped again before the
                                                * check */
                                : PAGE_UNMEASURABLE;
}

/* Panels unmap at most one page of a pair: if both were unmapped by now, and the last reading has
 * not excused that by other readers, another process did it before or during this marking, and the
 * next reading may show what was mapped again. */
static void renew_sentinels(void *const *states, size_t n)
{
    struct pageout *first = states[0];

    for (size_t s = 0; s < n; s++) {
        struct pageout *pageout = states[s];

        first->others_unmap |= !pageout->readers && sentinels_lost_pair(&pageout->sentinels);
        if (s > 0)
            sentinels_end(&pageout->sentinels);
    }
    sentinels_renew(&first->sentinels);
}

static int mark_pages(void *const *states, size_t n, const struct page_merge *merge,
                      bool (*wanted)(enum page_state), struct error *error)
{
    const struct marking marking = {.states = states, .merge = merge};
    const struct pageout *first = states[0];
    const struct qemu_io io = pageout_readers_io(first->target);
    int rc = pageout_check_swap(first->target->root,
                                error); /* checked each time: swap may be added in the meantime */

    if (rc < 0)
        return rc;
    for (size_t s = 0; s < n; s++) {
        struct pageout *pageout = states[s];

        pageout->io = io;
        for (uint64_t i = 0; i < pageout->set->n; i++)
            pageout->advised[i] = pageout->others_unmap ||
                                  wanted((enum page_state)pageout->set->state[i]);
    }
    rc = unmap_advised(&marking);
    if (rc < 0)
        return error_set(error, rc, "process_madvise(MADV_PAGEOUT): %s", strerror(-rc));
    for (size_t s = 0; s < n; s++)
        note_still_mapped(states[s]);
    renew_sentinels(states, n);
    return 0;
}

static int mark_set(void *state, bool (*wanted)(enum page_state), struct error *error)
{
    const struct page_set *set = ((const struct pageout *)state)->set;
    struct page_merge merge;
    int rc = page_merge_make(&merge, &set, 1);

    rc = rc < 0 ? error_set(error, rc, "pageout: out of memory")
                : mark_pages(&state, 1, &merge, wanted, error);
    page_merge_free(&merge);
    return rc;
}

int pageout_mark(void *state, struct error *error)
{
    return mark_set(state, page_any, error);
}

int pageout_rearm(void *state, struct error *error)
{
    return mark_set(state, page_needs_rearm, error);
}

int pageout_rearm_many(void *const *states, size_t n, const struct page_merge *merge,
                       struct error *error)
{
    return mark_pages(states, n, merge, page_needs_rearm, error);
}
