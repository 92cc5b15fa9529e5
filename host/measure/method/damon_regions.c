// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/method/damon_regions.h"

#include "guest/arch/arch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool damon_in_pieces(const struct damon *damon, uint64_t i)
{
    const struct page_set *set = damon->set;
    uint64_t first_hva = set->ram->blocks[0].hva;
    unsigned order = set->order[i];

    if (damon->target->process->accel != ACCEL_KVM || order == 0)
        return false;
    if (damon->has_layout &&
        gpa_kvm_order(&damon->layout, set->ram, page_set_page(set, i), order) < order)
        return true;
    return set->unit[i] < first_hva + arch_host()->in_pieces_bytes &&
           set->unit[i] + (base_page_bytes() << order) > first_hva;
}

void damon_note_page(void *context, uint64_t i, const struct page_probe *probe)
{
    struct damon *damon = context;

    page_set_note_unit(damon->set, i, probe->order, probe->unit_hva);
    damon->set->state[i] = (uint8_t)probe->state;
    if (probe->state == PAGE_IDLE && damon_in_pieces(damon, i))
        damon->set->state[i] = PAGE_UNMEASURABLE;
}

void damon_for_unit(struct damon *damon, uint64_t i,
                    void (*work)(struct damon *damon, uint64_t i, uint8_t value), uint8_t value)
{
    const struct page_set *set = damon->set;
    uint64_t unit = set->unit[i];
    bool huge = set->order[i] > 0;

    do
        work(damon, i, value);
    while (huge && ++i < set->n && set->order[i] > 0 && set->unit[i] == unit);
}

static void set_watched(struct damon *damon, uint64_t i, uint8_t value)
{
    damon->watched[i] = value;
}

static int compare_regions(const void *a, const void *b)
{
    uint64_t x = ((const struct region *)a)->hva;
    uint64_t y = ((const struct region *)b)->hva;

    return (x > y) - (x < y);
}

/* Makes a region for every present unit. RAM blocks need not lie in memory in the order of their
 * pages. */
static int choose_regions(struct damon *damon, struct error *error)
{
    const struct page_set *set = damon->set;

    memset(damon->watched, 0, set->n * sizeof(*damon->watched));
    damon->n_regions = 0;
    for (uint64_t i = 0; i < set->n; i++) {
        if (set->state[i] != PAGE_IDLE || damon->watched[i])
            continue;
        if (damon->n_regions == MAX_REGIONS)
            return error_set(error, -E2BIG, "damon: follows at most %d pages; take fewer samples",
                             MAX_REGIONS);
        damon->regions[damon->n_regions++] = (struct region){.hva = page_set_hva(set, i), .at = i};
        damon_for_unit(damon, i, set_watched, true);
    }
    qsort(damon->regions, damon->n_regions, sizeof(*damon->regions), compare_regions);
    return 0;
}

int damon_make_regions(struct damon *damon, struct error *error)
{
    int rc = choose_regions(damon, error);

    if (rc < 0)
        return rc;
    for (uint64_t r = 0; r < damon->n_regions; r++)
        damon->pfn[r] = damon->regions[r].hva;
    return damon_slot_set_pages(damon->slot, damon->pfn, damon->n_regions, error);
}

struct region *damon_find_region(const struct damon *damon, uint64_t hva)
{
    const struct region key = {.hva = hva};

    return bsearch(&key, damon->regions, damon->n_regions, sizeof(key), compare_regions);
}
