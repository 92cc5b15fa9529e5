// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file disturbed.h  Detects others that clear accessed bits between marking and reading, so that
 * too little seems touched.
 *
 * Reclaim takes the accessed bit of each page that it scans: pgscan_* of /proc/vmstat, mm/vmscan.c.
 * DAMON takes that of each page that it samples (mm/damon/vaddr.c, paddr.c), in a kernel thread
 * "kdamond.N", whichever process started it.
 */
#pragma once

#include "base/fsroot.h"

#include <stdbool.h>
#include <stdint.h>

struct disturbed {
    uint64_t scanned_pages; /* total since boot, or KEYED_UNKNOWN */
    bool reclaim;           /* pages were scanned meanwhile */
    bool reclaim_unknown;   /* /proc/vmstat does not count scans, or the count decreased */
    bool damon;             /* a kdamond was running at the last check */
    bool damon_unknown;     /* /proc shows no kernel threads: hidepid, or another PID namespace */
};

/** Call it at marking: resets the result, and reads how much has been scanned. */
void disturbed_begin(const struct fsroot *root, struct disturbed *disturbed);

/** Call it after reading: finds disturbances since marking. Takes some us for each process of the
 * guest.
 */
void disturbed_look(const struct fsroot *root, struct disturbed *disturbed);
