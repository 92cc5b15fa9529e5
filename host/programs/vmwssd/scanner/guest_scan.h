// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file guest_scan.h  Guest scan: the panel of one guest, from one scan to the next. By one thread
 * at a time.
 *
 * A scan locks the guest, reads and marks its panel, and lends the lock again (run_lock.h): `vmwss
 * measure` by hand remains possible in between. If another process did measure, our marks are void
 * and the panel begins anew.
 *
 * The first panel is small: what it costs tells how large the real one may be.
 */
#pragma once

#include "measure/record/ages_record.h"

struct guest_scan; /* opaque */

/** What is wanted of the scan of every guest. */
struct scan_rules {
    const struct method *method; /* NULL: the first of idle, pageout, zap that proves itself */
    size_t n_windows;
    double window_s[RUN_MAX_WINDOWS]; /* ascending */
    double tick_s;                    /* the shortest time between two scans */
};

/** Takes over the opened @p guest, which is moved. NULL: out of memory, and the guest was not
 * taken. Borrows @p root. */
struct guest_scan *guest_scan_new(struct guest *guest, const struct fsroot *root);

/** Returns true if the guest's RAM is made of what it was made of when it was opened. @p xml: as
 * its live XML says now; it is refined by what this QEMU was started with, as it was then. Nothing
 * of that ever changes here, so any thread may ask. */
bool guest_scan_has_ram(const struct guest_scan *scan, struct ram_config *xml);

/** Restores what was marked, and frees. NULL is allowed. */
void guest_scan_free(struct guest_scan *scan);

/** Sets how long the guest was suspended in total: its panel does not age meanwhile. */
void guest_scan_set_suspended(struct guest_scan *scan, uint64_t total_ns);

/** Jobs (enum sample_flag) were seen since the last scan. */
void guest_scan_note_jobs(struct guest_scan *scan, unsigned flags);

/** The rules have changed: the panel begins anew at the next scan. */
void guest_scan_begin_anew(struct guest_scan *scan);

/**
 * Scans the guest. The first scan opens it, and chooses its method.
 * @param samples  pages that the panel shall have
 * @param cpu_s    CPU time of earlier scans that is in no record yet
 * @return 0: @p record is filled; -EAGAIN: there is nothing to record yet; -EBUSY: another vmwss
 * measures it;
 *         -ESRCH: it is gone; -ENOTSUP: no method can follow it; else what went wrong: the next
 *         scan begins anew
 */
int guest_scan_sample(struct guest_scan *scan, const struct scan_rules *rules, uint64_t samples,
                      double cpu_s, struct ages_record *record, struct error *error);

/** Fills a record of the guest's size, without windows, when it could not be scanned. Returns false
 * if not even that is known. */
bool guest_scan_size(const struct guest_scan *scan, struct ages_record *record);

/** Fetches what the kernel keeps in a small buffer: to be called between scans when
 * guest_scan_wake_fd() is readable. */
int guest_scan_poll(struct guest_scan *scan, struct error *error);

/** For poll(2), of its present panel: it may be another after a scan. -1: there is nothing to
 * fetch. */
int guest_scan_wake_fd(const struct guest_scan *scan);

/** Pages in the panel; 0: none yet. */
uint64_t guest_scan_pages(const struct guest_scan *scan);

/** The method that watches it; "" while there is none. */
const char *guest_scan_method(const struct guest_scan *scan);
