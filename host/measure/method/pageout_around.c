// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/method/pageout_around.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/page_sizes.h"
#include "measure/kernel/pagemap.h"
#include "measure/kernel/touch_pages.h"

#include <errno.h>

/* With 64 ranges, a share of 7 % of RAM shows in at least one of them 99 times in 100. */
#define NEIGHBOURS_LOOKED 64

/* A fixed pseudo-random rank of a page (the finaliser of SplitMix64). */
static uint64_t page_rank(uint64_t page)
{
    page = (page ^ (page >> 30)) * 0xbf58476d1ce4e5b9ULL;
    page = (page ^ (page >> 27)) * 0x94d049bb133111ebULL;
    return page ^ (page >> 31);
}

void pageout_thin_out(struct page_set *set)
{
    uint64_t kept = 0;

    for (uint64_t i = 0; i < set->n; i++) {
        uint64_t window = page_set_hva(set, i) / FAULT_AROUND_BYTES;

        if (kept == 0 || page_set_hva(set, kept - 1) / FAULT_AROUND_BYTES != window)
            set->page[kept++] = set->page[i];
        else if (page_rank(set->page[i]) > page_rank(set->page[kept - 1]))
            set->page[kept - 1] = set->page[i];
    }
    page_set_keep(set, kept);
}

bool pageout_in_file(struct ram_walk *walk, uint64_t page)
{
    const struct guest_ram *ram = walk->by->target->ram;
    const struct ram_block *block = guest_ram_block(ram, page);
    const uint64_t offset = block->file_offset + (page - block->first_page) * base_page_bytes();

    return file_walk_holds(&walk->file, walk->by->file_fds[block - ram->blocks], offset);
}

/* The aligned range of pages that a fault at one of them maps. */
struct around {
    uint64_t first, n;
    uint64_t entry[FAULT_AROUND_BYTES / BASE_4K];
};

static int read_around(const struct pageout *by, uint64_t page, struct around *around)
{
    const struct ram_block *block = guest_ram_block(by->target->ram, page);
    const uint64_t pages = larger(FAULT_AROUND_BYTES / base_page_bytes(), 1);
    const uint64_t number = base_pages(block->hva) + page - block->first_page;

    around->first = page - smaller(number % pages, page - block->first_page);
    around->n = smaller(page - number % pages + pages,
                        block->first_page + base_pages(block->bytes)) -
                around->first;
    return pagemap_read_range(by->pagemap_fd, by->target->ram, around->first, around->n,
                              around->entry);
}

static bool is_unmapped(uint64_t entry)
{
    return !(entry & PAGEMAP_PRESENT) && !PAGEMAP_IN_MOTION(entry);
}

/* The neighbours of some pages are checked, the same pages each time. */
static bool is_looked_at(const struct pageout *pageout, uint64_t i)
{
    return page_rank(page_set_page(pageout->set, i)) % pageout->set->n < NEIGHBOURS_LOOKED;
}

/* The mapped pages of the range, one bit each. */
static uint16_t mapped_of(const struct around *around)
{
    uint16_t mapped = 0;

    for (uint64_t k = 0; k < around->n; k++)
        if (!is_unmapped(around->entry[k]))
            mapped |= (uint16_t)(1U << k);
    return mapped;
}

/* Finds a page of the file in this range that is not mapped; UINT64_MAX: every page is mapped. */
static uint64_t find_unmapped(struct ram_walk *walk, const struct around *around)
{
    for (uint64_t k = 0; k < around->n; k++)
        if (is_unmapped(around->entry[k]) && pageout_in_file(walk, around->first + k))
            return around->first + k;
    return UINT64_MAX;
}

/* Notes the mapped pages around each page; for those that are not all mapped, finds one in there[]
 * whose read fault maps them. Returns their number. */
static uint64_t look_around(const struct marking *marking, struct iovec *there)
{
    struct ram_walk walk = {.by = marking->states[0]};
    struct around around;
    uint64_t n = 0;

    for (uint64_t k = 0; k < marking->merge->n; k++) {
        const struct page_place place = marking->merge->place[k];
        struct pageout *pageout = state_at(marking, place);
        const bool live = pageout->target->root->live;

        if (!is_wanted(marking, k, is_idle_advised) || (!live && !is_looked_at(pageout, place.i)) ||
            read_around(walk.by, marking->merge->page[k], &around) < 0)
            continue;
        if (is_looked_at(pageout, place.i))
            pageout->neighbours[place.i] = mapped_of(&around);

        const uint64_t page = live ? find_unmapped(&walk, &around) : UINT64_MAX;

        if (page != UINT64_MAX)
            there[n++] = (struct iovec){
                .iov_base = (void *)(uintptr_t)guest_ram_hva(pageout->target->ram, page),
                .iov_len = 1};
    }
    return n;
}

int64_t pageout_map_around(const struct marking *marking)
{
    const struct pageout *first = marking->states[0];
    cleanup_free struct iovec *there = calloc(marking->merge->n + 1, sizeof(*there));
    uint64_t n;

    if (!there)
        return -ENOMEM;
    n = look_around(marking, there);
    for (uint64_t k = 0; k < n; k += TOUCH_AT_ONCE)
        touch_pages(first->target->process->pid, there + k, smaller(n - k, TOUCH_AT_ONCE));
    if (n > 0)
        look_around(marking, there);
    return (int64_t)n;
}

/* Returns true if a neighbour that was mapped at marking is unmapped now, and is still in the
 * file. */
static bool lost_neighbour(struct ram_walk *walk, uint64_t page, uint16_t neighbours)
{
    struct around around;
    uint16_t lost;

    if (read_around(walk->by, page, &around) < 0)
        return false;
    lost = (uint16_t)(neighbours & ~mapped_of(&around));
    for (uint64_t k = 0; k < around.n; k++)
        if ((lost & (1U << k)) && around.first + k != page &&
            pageout_in_file(walk, around.first + k))
            return true;
    return false;
}

bool pageout_others_unmap(const struct pageout *pageout)
{
    const struct page_set *set = pageout->set;
    struct ram_walk walk = {.by = pageout};

    for (uint64_t i = 0; i < set->n; i++) {
        const uint64_t page = page_set_page(set, i);

        if (set->state[i] == PAGE_IDLE && is_looked_at(pageout, i) &&
            lost_neighbour(&walk, page, pageout->neighbours[i]))
            return true;
    }
    return false;
}
