// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file guest_writes.h  Measures once what a guest writes (measure/estimate/write_curve.h), beside
 * the panel that follows it (guest_scan.h).
 *
 * It holds the guest's lock for as long as its longest window, so a scan that is due meanwhile is
 * late, and `vmwss measure` finds the guest busy. Its marks are soft-dirty bits, which no panel
 * uses; but KVM's mappings are dropped, and since Linux 6.13 the accessed bits that these had are
 * lost (carried_bits.h).
 */
#pragma once

#include "programs/vmwssd/scanner/guest_scan.h"

/** A state of two bytes for each page is kept while it lasts: 32 MiB for this much RAM. */
#define GUEST_WRITES_MAX_BYTES (64ULL << 30)

struct guest_writes {
    const struct fsroot *root;
    const volatile int *interrupted; /* not 0: stop */
    bool keep_panel; /* the panel does not depend on accessed bits, so it stays valid */
};

/**
 * @param guest  opened, and closed here
 * @return 0; -ENOTSUP: no method sees this guest's writes, and the message says why; -E2BIG: it is
 *         larger than GUEST_WRITES_MAX_BYTES; -EBUSY: another vmwss measures it; -ESRCH: it is gone
 */
int guest_writes_measure(const struct guest_writes *writes, struct guest *guest,
                         const struct scan_writes *params, struct write_curve *curve,
                         struct error *error);
