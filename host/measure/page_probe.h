// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file page_probe.h  How the pages of a set are mapped just now: for methods that work on
 * mappings, not on folios.
 */
#pragma once

#include "measure/page_set.h"

struct page_probe {
    enum page_state state; /* PAGE_ABSENT (the shared zero page too: it is no guest's memory),
                              PAGE_SWAPPED, or PAGE_IDLE for one that is present, also if it is
                              just being migrated */
    unsigned order;        /* of the mapping: base_page_bytes() << order */
    uint64_t unit_hva;     /* where that begins */
    uint64_t pfn; /* of the page itself; 0 without CAP_SYS_ADMIN, and while it is migrated */
};

/**
 * Probes the pages whose state is @p wanted, in ascending order.
 * @param pagemap_fd  of pagemap_open(). Before Linux 6.7 a transparent huge page looks like single
 *                    ones.
 * @param mappings    false saves a system call per page: order, unit and the zero page are not
 *                    probed
 * @param visit       may change the state of page @p i, but of no other
 * @return 0 or a negative errno.
 */
int page_probe_each(int pagemap_fd, const struct page_set *set, bool (*wanted)(enum page_state),
                    bool mappings,
                    void (*visit)(void *context, uint64_t i, const struct page_probe *probe),
                    void *context);
