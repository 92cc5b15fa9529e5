// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file guest_scan.h  Guest scan: the panel of one guest, from one scan to the next. Used by one
 * thread at a time.
 *
 * A scan locks the guest, reads and marks its panel, and lends the lock again (run_lock.h): so
 * `vmwss measure` by hand remains possible between scans. If another process did measure, our marks
 * are void and the panel begins anew.
 *
 * The first panel is small: its cost determines how large the real one may be.
 */
#pragma once

#include "measure/record/ages_record.h"
#include "programs/vmwssd/scanner/scan_message.h"

struct guest_scan; /* opaque */

/** Takes ownership of the opened @p guest, which is moved. Returns NULL if out of memory; then the
 * guest was not taken. Borrows @p root. */
struct guest_scan *guest_scan_new(struct guest *guest, const struct fsroot *root);

/** Returns true if the guest's RAM has the same backends as when it was opened. @p xml: from its
 * current live XML; it is refined by the QEMU command line of that time. This data never changes
 * here, so any thread may ask. */
bool guest_scan_has_ram(const struct guest_scan *scan, struct ram_config *xml);

/** Opens the guest's process once more, with the RAM that is known here, for another measurement of
 * it. Returns 0, with a guest that the caller closes; or as qemu_process_open(). */
int guest_scan_open_again(const struct guest_scan *scan, struct guest *out, struct error *error);

/** Restores what was marked, and frees the scan. Accepts NULL. */
void guest_scan_free(struct guest_scan *scan);

/**
 * Scans the guest. The first scan opens it, and chooses its method.
 * @param params  valid: scan_request_valid()
 * @return 0: @p record is filled; -EAGAIN: there is nothing to record yet; -EBUSY: another vmwss
 *         measures it; -ESRCH: it is gone; -ENOTSUP: no method can follow it; another error: the
 *         next scan begins anew
 */
int guest_scan_sample(struct guest_scan *scan, const struct scan_sample *params,
                      struct ages_record *record, struct error *error);

/** Fills a record with the guest's size, without windows, if it could not be scanned. Returns false
 * if not even the size is known. */
bool guest_scan_size(const struct guest_scan *scan, struct ages_record *record);

/** Fetches the data in the kernel's small buffer; call it between scans when guest_scan_wake_fd()
 * is readable. */
int guest_scan_poll(struct guest_scan *scan, struct error *error);

/** Returns a descriptor for poll(2), of the present panel: it may change with a scan. -1: there is
 * nothing to fetch. */
int guest_scan_wake_fd(const struct guest_scan *scan);

/** Returns the pages in the panel; 0: no panel yet. */
uint64_t guest_scan_pages(const struct guest_scan *scan);

/** Returns the method that samples it; "" if there is none yet. */
const char *guest_scan_method(const struct guest_scan *scan);
