// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file zap_scout.h  Finds pages that a guest touches, if they are so few that a panel misses them.
 *
 * It drops whole stretches of RAM, more and more of them, until some page faults. The number of
 * dropped and remembered pages is bounded: on a guest of 64 GiB that touched 64 KiB, vmwss had 10
 * MB resident and took 2.5 s, while a census of all of RAM took 55 MB and 5.8 s.
 */
#pragma once

#include "guest/ram/gpa.h"
#include "measure/kernel/fault_trace.h"
#include "measure/page_set.h"

/** The parts of an opened zap that it needs; all borrowed. */
struct zap_scout {
    const struct target *target;
    const struct gpa_layout *layout;
    struct fault_trace *trace;
    int pagemap_fd;
};

/**
 * @param few  receives the pages that faulted when they were dropped, ascending, each once; at most
 *             as many as it has room for
 * @param dropped_bytes  set to the number of bytes dropped for the search
 * @return 0, also if no page was found; a negative errno, with @p why set
 */
int zap_scout(const struct zap_scout *scout, struct page_set *few, uint64_t *dropped_bytes,
              struct error *why);
