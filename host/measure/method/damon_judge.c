// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/method/damon_judge.h"

#include "measure/kernel/collapses.h"
#include "measure/kernel/kpageflags.h"
#include "measure/kernel/pagemap.h"
#include "measure/method/damon_regions.h"
#include "measure/page_probe.h"

#include <string.h>

/* Handles a page that appeared within the window: it was faulted in, khugepaged filled a hole, or
 * swapoff brought it. */
static void see_new(struct damon *damon, uint64_t i)
{
    struct page_set *set = damon->set;
    uint64_t hva = page_set_hva(set, i);
    const struct ram_block *block = guest_ram_block(set->ram, page_set_page(set, i));
    struct page_mapping mapping = {0};
    uint64_t bytes = block->page_bytes;

    if (bytes == base_page_bytes() && pagemap_mapping(damon->pagemap_fd, hva, &mapping) == 0) {
        if (mapping.zero)
            return;
        bytes = mapping.huge ? huge_page_bytes() : base_page_bytes();
    }

    bool untold = (damon->collapsed && mapping.huge &&
                   !page_is_gone((enum page_state)set->state[i])) ||
                  (damon->swapoff && set->state[i] == PAGE_SWAPPED);

    set->state[i] = untold ? PAGE_UNMEASURABLE : PAGE_TOUCHED;
    page_set_note_unit(set, i, (unsigned)__builtin_ctzll(base_pages(bytes)), hva & ~(bytes - 1));
}

static void see_page(void *context, uint64_t i, const struct page_probe *probe)
{
    struct damon *damon = context;
    enum page_state state = (enum page_state)damon->set->state[i];
    struct region *region = damon_find_region(damon, page_set_hva(damon->set, i));

    if (region)
        damon->pfn[region - damon->regions] = probe->state == PAGE_IDLE ? probe->pfn : 0;
    if (probe->state == PAGE_IDLE && page_is_missing(state))
        see_new(damon, i);
    else if (probe->state != PAGE_IDLE)
        damon->set->state[i] = (uint8_t)page_lost(region && region->accessed ? PAGE_TOUCHED : state,
                                                  probe->state);
}

static void check_swapoff(struct damon *damon)
{
    struct swap_devices now = swap_devices_read(damon->target->root);

    damon->swapoff = swap_devices_left(&damon->devices, &now);
    damon->devices = now;
}

int damon_read_frames(struct damon *damon, struct error *error)
{
    uint64_t collapses = collapses_read(damon->target->root);

    memset(damon->pfn, 0, damon->n_regions * sizeof(*damon->pfn));
    damon->collapsed = collapses != damon->collapses;
    damon->collapses = collapses;
    check_swapoff(damon);

    int rc = page_probe_each(damon->pagemap_fd, damon->set, page_any, false, see_page, damon);

    return rc < 0 ? error_set(error, rc, "pagemap: %s", strerror(-rc)) : 0;
}

int damon_read_flags(struct damon *damon, struct error *error)
{
    int rc = kpageflags_read(damon->flags_fd, damon->pfn, damon->n_regions, damon->flags);

    for (uint64_t r = 0; rc == 0 && r < damon->n_regions; r++) {
        unsigned guess = damon->set->order[damon->regions[r].at];
        struct folio folio;

        if ((damon->flags[r] & KPF_COMPOUND_TAIL) && !(damon->flags[r] & KPF_IDLE) &&
            kpageflags_folio(damon->flags_fd, damon->pfn[r], damon->flags[r], guess, &folio) == 0)
            damon->flags[r] |= folio.flags;
    }
    return rc < 0 ? error_set(error, rc, "kpageflags: %s", strerror(-rc)) : 0;
}

bool damon_carries_mark(const struct damon *damon, uint64_t r)
{
    return damon->pfn[r] && (damon->flags[r] & KPF_IDLE) &&
           (damon->flags[r] & (KPF_LRU | KPF_HUGE));
}

/* The order of a region's mapped page; a page of a folio other than a THP is not mapped huge. */
static unsigned order_now(const struct damon *damon, uint64_t r)
{
    const struct region *region = &damon->regions[r];
    struct page_mapping mapping = {0};

    if (damon->flags[r] & KPF_HUGE)
        return damon->set->order[region->at];
    if (damon->flags[r] & KPF_THP)
        pagemap_mapping(damon->pagemap_fd, region->hva, &mapping);
    return mapping.huge ? huge_page_order() : 0;
}

static void set_judged(struct damon *damon, uint64_t i, uint8_t state)
{
    if (damon->set->state[i] == PAGE_IDLE)
        damon->set->state[i] = state;
}

static void set_unwatched(struct damon *damon, uint64_t i, uint8_t order)
{
    uint64_t hva = page_set_hva(damon->set, i);

    set_judged(damon, i, PAGE_UNMEASURABLE);
    page_set_note_unit(damon->set, i, order, hva & ~((base_page_bytes() << order) - 1));
    damon->watched[i] = false;
}

static enum page_state region_verdict(const struct damon *damon, uint64_t r)
{
    const struct region *region = &damon->regions[r];

    if (!region->marked || !region->told)
        return PAGE_UNMEASURABLE;
    if (region->accessed)
        return PAGE_TOUCHED;
    if (!damon->carried && damon->pfn[r] != region->pfn)
        return PAGE_UNMEASURABLE;
    return damon->lost > 0 || !damon_carries_mark(damon, r) ? PAGE_UNMEASURABLE : PAGE_IDLE;
}

static void judge_region(struct damon *damon, uint64_t r)
{
    uint64_t i = damon->regions[r].at;
    unsigned order = order_now(damon, r);

    if (damon->pfn[r] && order != damon->set->order[i])
        damon_for_unit(damon, i, set_unwatched, (uint8_t)order);
    else
        damon_for_unit(damon, i, set_judged, (uint8_t)region_verdict(damon, r));
}

int damon_judge_regions(struct damon *damon, struct error *error)
{
    int rc = damon_read_frames(damon, error);

    if (rc == 0)
        rc = damon_read_flags(damon, error);
    for (uint64_t r = 0; rc == 0 && r < damon->n_regions; r++)
        judge_region(damon, r);
    return rc;
}
