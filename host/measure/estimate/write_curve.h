// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file write_curve.h  The write working set of a guest, D(w): bytes of guest RAM that were written
 * at least once within a window of w seconds.
 *
 * All points of a curve come from one marking, and no page is marked again between them. So a later
 * point includes all earlier ones: apart from memory that left meanwhile (balloon, discard), the
 * curve does not fall. Pages are written again and again, so D(10 s) is usually much less than ten
 * times D(1 s), and no rate can replace the curve.
 *
 * Bytes are whole units of the granularity: with huge pages, one written byte counts as 2 MiB here
 * and in high_bytes, and as one base page in low_bytes. QEMU's own migration sends base pages.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct write_point {
    double window_s; /* as requested */
    /* as measured: from the middle of marking to the middle of reading, by the guest's clock */
    double est_window_s;
    uint64_t bytes; /* written within the window, and still resident at its end */
    /* Lower and upper bound of the written bytes. In a census they differ only by unmeasurable and
     * doubtful memory, and by the granularity. */
    uint64_t low_bytes, high_bytes;
};

/** Windows that show the curve, from below one round of a migration to several. */
#define WRITE_WINDOWS_S 0.1, 0.2, 0.5, 1, 2, 5, 10

/** Maximum number of windows in one curve. */
#define WRITE_POINTS_MAX 16

/** Zeroed: writes were not measured. */
struct write_curve {
    const char *method; /* the method's name, a static string; NULL: not measured */
    unsigned flags;     /* enum sample_flag, for the measurement of writes only */
    uint64_t granularity_bytes;
    /* The longest end of guest RAM of which at most one part in SPARSE_PART is filled, and the
     * rest absent. 0: there is none, or it is not known. */
    uint64_t sparse_end_bytes;
    size_t n;
    struct write_point points[WRITE_POINTS_MAX]; /* windows ascending */
};
