// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file paging_rates.h  Rates of paging between two readings, and the classical rule. Pure
 * functions.
 *
 * The rule of Unix administrators: continuous paging means that the working set is larger than the
 * memory; scanning without paging, that it is near the memory; neither, that it is smaller. Paging
 * consists of swap-ins and of refaults (pages read back after they were reclaimed), which are the
 * equivalent for files. Pages that are swapped out and stay out were idle, and major faults of
 * files read for the first time are no shortage, so neither counts. Refaults without any scanning
 * do not count either: /proc/vmstat counts the refaults of a control group at its own limit, but
 * not its scans, and such a limit is not a shortage of the guest.
 */
#pragma once

#include "proc/paging.h"

#include <stddef.h>

/* A page that is read back costs a task some 0.1 ms (SSD) to 10 ms (disk): at 10 a second it waits
 * for 0.1 to 10 % of its time. A guest without shortage has lower rates, for example when a program
 * starts that has not run for long. */
#define PAGING_ABOVE_PER_S 10.0
#define PAGING_ABOVE_TEXT "10"
/* kswapd scans 32 pages at a time (SWAP_CLUSTER_MAX): below one such batch a second it is not
 * really at work. */
#define PAGING_NEAR_PER_S 32.0
#define PAGING_NEAR_TEXT "32"

struct paging_rates {
    double interval_s;
    /* in the order of struct paging; NAN if the kernel does not report it */
    double per_s[PAGING_COUNTERS];
};

enum paging_verdict {
    PAGING_BELOW,
    PAGING_NEAR,
    PAGING_ABOVE,
    /* the deciding counters are missing (without CONFIG_VM_EVENT_COUNTERS /proc/vmstat has no
     * scans), or a counter decreased */
    PAGING_UNKNOWN,
};

/** Computes the rates. A counter that decreased (the guest was restored to an earlier state) is
 * unknown. */
void paging_rates(const struct paging *before, const struct paging *now, double interval_s,
                  struct paging_rates *rates);

enum paging_verdict paging_verdict(const struct paging_rates *rates);
const char *paging_verdict_name(enum paging_verdict verdict);

/** Writes the reason for the verdict in one line, with the numbers; 200 bytes suffice. Returns @p
 * text. */
char *paging_reason(const struct paging_rates *rates, char *text, size_t size);
