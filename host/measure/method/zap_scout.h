// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file zap_scout.h  Pages that a guest touches, where so few are that a panel misses them.
 *
 * Whole stretches of RAM are dropped, more and more of them, until some page faults. What is
 * dropped and remembered is bounded: on a guest of 64 GiB that touched 64 KiB vmwss had 10 MB
 * resident and took 2.5 s, where a census of all of RAM took 55 MB and 5.8 s.
 */
#pragma once

#include "guest/ram/gpa.h"
#include "measure/kernel/fault_trace.h"
#include "measure/page_set.h"

/** What it needs of an opened zap; all borrowed. */
struct zap_scout {
    const struct target *target;
    const struct gpa_layout *layout;
    struct fault_trace *trace;
    int pagemap_fd;
};

/**
 * @param few  its pages become those that faulted when they were dropped, ascending, each once; at
 *             most as many as it has
 * @param dropped_bytes  set to how much was dropped for it
 * @return 0, also when none was found; a negative errno, with @p why set
 */
int zap_scout(const struct zap_scout *scout, struct page_set *few, uint64_t *dropped_bytes,
              struct error *why);
