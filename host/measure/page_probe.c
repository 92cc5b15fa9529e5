// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/page_probe.h"

#include "measure/kernel/pagemap.h"

#define BATCH_PAGES 4096

struct prober {
    int pagemap_fd;
    const struct page_set *set;
    bool mappings;
    uint64_t huge; /* number of the huge page that was last seen mapped by one PMD; 0: none seen */
};

/* Queries the kernel once for each huge page, because one PMD maps all of a huge page or
 * nothing. */
static struct page_mapping mapping_at(struct prober *prober, uint64_t hva)
{
    struct page_mapping mapping = {.huge = true};

    if (hva / huge_page_bytes() == prober->huge)
        return mapping;
    mapping.huge = false;
    pagemap_mapping(prober->pagemap_fd, hva, &mapping);
    if (mapping.huge && !mapping.zero)
        prober->huge = hva / huge_page_bytes();
    return mapping;
}

static struct page_probe probe_page(struct prober *prober, uint64_t i, uint64_t entry)
{
    const struct page_set *set = prober->set;
    const struct ram_block *block = guest_ram_block(set->ram, page_set_page(set, i));
    uint64_t hva = page_set_hva(set, i);
    struct page_probe probe = {.state = PAGE_IDLE, .pfn = PAGEMAP_PFN(entry)};

    if (PAGEMAP_IN_MOTION(entry)) {
        probe.pfn = 0;
    } else if (!(entry & PAGEMAP_PRESENT)) {
        probe.state = entry & PAGEMAP_SWAPPED ? PAGE_SWAPPED : PAGE_ABSENT;
    } else if (block->page_bytes > base_page_bytes()) {
        probe.order = (unsigned)__builtin_ctzll(base_pages(block->page_bytes));
    } else if (prober->mappings) {
        struct page_mapping mapping = mapping_at(prober, hva);

        probe.order = mapping.huge ? huge_page_order() : 0;
        probe.state = mapping.zero ? PAGE_ABSENT : PAGE_IDLE;
    }
    probe.unit_hva = hva & ~((base_page_bytes() << probe.order) - 1);
    return probe;
}

int page_probe_each(int pagemap_fd, const struct page_set *set, bool (*wanted)(enum page_state),
                    bool mappings,
                    void (*visit)(void *context, uint64_t i, const struct page_probe *probe),
                    void *context)
{
    struct prober prober = {.pagemap_fd = pagemap_fd, .set = set, .mappings = mappings};
    uint64_t index[BATCH_PAGES];
    uint64_t page[BATCH_PAGES];
    uint64_t entry[BATCH_PAGES];
    uint64_t n = 0;

    for (uint64_t i = 0; i < set->n; i++) {
        if (wanted((enum page_state)set->state[i])) {
            index[n] = i;
            page[n++] = page_set_page(set, i);
        }
        if (n == 0 || (n < BATCH_PAGES && i + 1 < set->n))
            continue;

        int rc = pagemap_read(pagemap_fd, set->ram, page, n, entry);

        if (rc < 0)
            return rc;
        for (uint64_t k = 0; k < n; k++) {
            struct page_probe probe = probe_page(&prober, index[k], entry[k]);

            visit(context, index[k], &probe);
        }
        n = 0;
    }
    return 0;
}
