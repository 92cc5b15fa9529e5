// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file paging_rates.h  Paging between two moments, and the classical rule: pure functions.
 *
 * The rule, as administrators of Unix have it: continuous paging means that the working set is
 * larger than the memory; scanning for pages without paging, that it is near; neither, that it is
 * smaller. Paging is what was swapped in, and what was reclaimed and then wanted again (a refault),
 * which for files is the same thing without swap. Pages that are swapped out and stay out were
 * idle, and a major fault of a file that is read for the first time is no shortage: neither counts.
 * Nor do pages that come back while none is looked for: /proc/vmstat counts the refaults of a
 * control group that is at a limit of its own, but not its scans, and that is no shortage of the
 * guest's.
 */
#pragma once

#include "proc/paging.h"

#include <stddef.h>

/* A page that comes back costs a task some 0.1 ms (SSD) to 10 ms (disk): at 10 a second it has
   waited for 0.1 to 10 % of its time. Fewer happen in a guest at ease, at the start of a program
   that had not run for long. */
#define PAGING_ABOVE_PER_S 10.0
#define PAGING_ABOVE_TEXT "10"
/* kswapd takes 32 pages at a time (SWAP_CLUSTER_MAX): below one such a second it did not really set
 * out. */
#define PAGING_NEAR_PER_S 32.0
#define PAGING_NEAR_TEXT "32"

struct paging_rates {
    double interval_s;
    double per_s[PAGING_COUNTERS]; /* in the order of struct paging; NAN where the kernel does not
                                      say */
};

enum paging_verdict {
    PAGING_BELOW,
    PAGING_NEAR,
    PAGING_ABOVE,
    PAGING_UNKNOWN, /* the kernel does not count what decides: without CONFIG_VM_EVENT_COUNTERS
                       /proc/vmstat has no scans; or a counter fell */
};

/** A counter that fell (a guest restored to an earlier state) is unknown. */
void paging_rates(const struct paging *before, const struct paging *now, double interval_s,
                  struct paging_rates *rates);

enum paging_verdict paging_verdict(const struct paging_rates *rates);
const char *paging_verdict_name(enum paging_verdict verdict);

/** Why, with the numbers, in one line, for which 200 bytes are enough. Returns @p text. */
char *paging_reason(const struct paging_rates *rates, char *text, size_t size);
