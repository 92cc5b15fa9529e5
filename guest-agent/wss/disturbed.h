// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file disturbed.h  Others that clear accessed bits between marking and reading: then too little
 * looks touched.
 *
 * Reclaim takes the accessed bit of each page that it scans: pgscan_* of /proc/vmstat, mm/vmscan.c.
 * DAMON does of each that it samples (mm/damon/vaddr.c, paddr.c), whichever process started it,
 * from a kernel thread "kdamond.N".
 */
#pragma once

#include "base/fsroot.h"

#include <stdbool.h>
#include <stdint.h>

struct disturbed {
    uint64_t scanned_pages; /* since boot; KEYED_UNKNOWN */
    bool reclaim;           /* pages were scanned in between */
    bool reclaim_unknown;   /* /proc/vmstat does not count scans, or the count fell */
    bool damon;             /* a kdamond ran when it was looked last */
    bool damon_unknown;     /* /proc shows no kernel threads: hidepid, or another PID namespace */
};

/** At marking: forgets what was, and notes how much has been scanned. */
void disturbed_begin(const struct fsroot *root, struct disturbed *disturbed);

/** After reading: whether there was any of it since. Takes some us for each process of the guest.
 */
void disturbed_look(const struct fsroot *root, struct disturbed *disturbed);
