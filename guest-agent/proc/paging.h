// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file paging.h  Paging and reclaim as counted by /proc/vmstat: totals since boot, in pages or
 * events. */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/** A member is KEYED_UNKNOWN if this kernel does not report it. The names in vmstat are in
 * paging.c. */
struct paging {
    uint64_t swap_in_pages;
    uint64_t swap_out_pages;
    uint64_t major_faults;
    uint64_t scanned_kswapd_pages; /* scanned in the background */
    uint64_t scanned_direct_pages; /* scanned by tasks that needed memory and had to wait */
    uint64_t kswapd_runs;          /* how often kswapd began to balance a node */
    uint64_t direct_stalls;        /* how often a task had to reclaim memory itself */
    uint64_t refault_anon_pages;   /* pages read back soon after they were reclaimed: Linux 5.9 */
    uint64_t refault_file_pages;
    /* refaulted pages that were activated at once, as part of the working set */
    uint64_t activate_anon_pages;
    uint64_t activate_file_pages;
    uint64_t oom_kills;
};

/** Reads /proc/vmstat. 0 or a negative errno with the message. */
int paging_read(const struct fsroot *root, struct paging *paging, struct error *error);

/** Pages scanned for reclaim since boot; KEYED_UNKNOWN unless the kernel counts both kswapd and
 * direct reclaim. */
uint64_t paging_scanned_pages(const struct fsroot *root);

#define PAGING_COUNTERS (sizeof(struct paging) / sizeof(uint64_t))

/** The name of counter @p i in wire.h: "swap_in_pages", ... */
const char *paging_counter_name(size_t i);

/** Returns the "paging" of a report (wire.h), without unknown values. NULL if out of memory. */
json_t *paging_json(const struct paging *paging);
