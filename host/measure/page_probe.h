// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file page_probe.h  Finds how the pages of a set are mapped now: for methods that work on
 * mappings, not on folios.
 */
#pragma once

#include "measure/page_set.h"

struct page_probe {
    /* PAGE_ABSENT (also for the shared zero page, which is not the guest's memory), PAGE_SWAPPED,
     * or PAGE_IDLE for a present page, including one that is being migrated */
    enum page_state state;
    unsigned order;    /* order of the mapping: base_page_bytes() << order */
    uint64_t unit_hva; /* HVA where that mapping begins */
    uint64_t pfn; /* frame of the page itself; 0 without CAP_SYS_ADMIN, and while it is migrated */
};

/**
 * Probes the pages whose state is @p wanted, in ascending order.
 * @param pagemap_fd  from pagemap_open(). Before Linux 6.7 a transparent huge page looks like
 *                    single pages.
 * @param mappings    false saves a system call per page: order, unit and the zero page are not
 *                    probed
 * @param visit       may change the state of page @p i only
 * @return 0 or a negative errno.
 */
int page_probe_each(int pagemap_fd, const struct page_set *set, bool (*wanted)(enum page_state),
                    bool mappings,
                    void (*visit)(void *context, uint64_t i, const struct page_probe *probe),
                    void *context);
