// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file paging.h  Paging and reclaim as /proc/vmstat counts them: totals since boot, in pages or
 * in times. */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/** KEYED_UNKNOWN where this kernel does not say. Names in vmstat: paging.c. */
struct paging {
    uint64_t swap_in_pages;
    uint64_t swap_out_pages;
    uint64_t major_faults;
    uint64_t scanned_kswapd_pages; /* looked at in the background */
    uint64_t scanned_direct_pages; /* looked at by tasks that wanted memory and had to wait */
    uint64_t kswapd_runs;          /* times that kswapd set out to balance a node */
    uint64_t direct_stalls;        /* times that a task had to reclaim itself */
    uint64_t refault_anon_pages;   /* wanted again soon after they were reclaimed: Linux 5.9 */
    uint64_t refault_file_pages;
    uint64_t activate_anon_pages; /* refaulted so soon that they belong to the working set */
    uint64_t activate_file_pages;
    uint64_t oom_kills;
};

/** Reads /proc/vmstat. 0 or a negative errno with the message. */
int paging_read(const struct fsroot *root, struct paging *paging, struct error *error);

/** Pages that anyone has scanned for reclaim since boot; KEYED_UNKNOWN unless the kernel counts
 * those of kswapd and of direct reclaim. */
uint64_t paging_scanned_pages(const struct fsroot *root);

#define PAGING_COUNTERS (sizeof(struct paging) / sizeof(uint64_t))

/** "swap_in_pages", ...: the name on the wire of the i-th of them. */
const char *paging_counter_name(size_t i);

/** The "paging" of a report, as wire.h has it; what is unknown is left out. NULL when out of
 * memory. */
json_t *paging_json(const struct paging *paging);
