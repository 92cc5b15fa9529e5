// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/method/zap_faults.h"

static void touch(struct page_set *set, uint64_t i)
{
    if (set->state[i] != PAGE_UNMEASURABLE)
        set->state[i] = PAGE_TOUCHED;
}

/* The unit of the i-th page, as page numbers [first, end). */
static void unit_range(const struct page_set *set, uint64_t i, uint64_t *first, uint64_t *end)
{
    uint64_t pages = 1ULL << set->order[i];
    uint64_t hva = page_set_hva(set, i);
    uint64_t into = base_pages(hva) & (pages - 1);
    uint64_t page = page_set_page(set, i);

    *first = page >= into ? page - into : 0;
    *end = *first + pages;
}

/* Marks all pages of the set that share a unit with the i-th as touched, if @p page lies in that
 * unit. */
static void touch_unit(struct page_set *set, uint64_t i, uint64_t page)
{
    uint64_t first;
    uint64_t end;

    unit_range(set, i, &first, &end);
    if (page < first || page >= end)
        return;
    for (uint64_t j = page_set_find(set, first); j < set->n && page_set_page(set, j) < end; j++)
        touch(set, j);
}

/* Notes all pages of the set that lie in the same huge page as @p page; @p i is the first that is
 * not below it. */
static void note_near(struct zap *zap, uint64_t i, uint64_t page)
{
    const struct page_set *set = zap->set;
    uint64_t huge = guest_ram_hva(set->ram, page) / huge_page_bytes();

    for (uint64_t j = i;
         j < set->n && !zap->near[j] && page_set_hva(set, j) / huge_page_bytes() == huge; j++)
        zap->near[j] = true;
    for (uint64_t j = i;
         j > 0 && !zap->near[j - 1] && page_set_hva(set, j - 1) / huge_page_bytes() == huge; j--)
        zap->near[j - 1] = true;
}

void zap_see_fault(uint64_t gpa, void *context)
{
    struct zap *zap = context;
    uint64_t page = gpa_to_page(&zap->layout, zap->target->ram, gpa);

    if (page == GPA_NONE)
        return;

    uint64_t i = page_set_find(zap->set, page);

    note_near(zap, i, page);
    if (i < zap->set->n)
        touch_unit(zap->set, i, page);
    if (i > 0)
        touch_unit(zap->set, i - 1, page);
}
