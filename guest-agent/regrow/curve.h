// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file curve.h  How the page cache came back after it was dropped: pure functions over the
 * readings.
 *
 * What comes back is what is read again; what was cached and is not wanted stays away. What could
 * not be dropped (mapped, dirty, being written, locked, of file systems in memory) was there all
 * the time, and whether it is needed is not known: hence two bounds of the need.
 *
 * The kernel drops inode by inode, and a fast reader brings back much meanwhile: of 20 MiB that an
 * emulated guest read in a loop, 14. What was read from disks during the drop therefore counts as
 * come back by then. It is an estimate, for some of it may have been dropped once more; the lower
 * bound of the need is without it.
 */
#pragma once

#include "regrow/reading.h"

#include <stdbool.h>
#include <stddef.h>

struct regrow_point {
    double after_s; /* since the drop began */
    double unix_s;
    struct regrow_reading reading;
};

struct regrow_curve {
    struct regrow_reading before; /* the drop */
    struct regrow_point *point;   /* the first is right after the drop */
    size_t n;
};

/** Appends a point. 0 or -ENOMEM. */
int regrow_curve_add(struct regrow_curve *curve, const struct regrow_point *point);
void regrow_curve_free(struct regrow_curve *curve);

/** Growth below this share of what came back, or below so many bytes, is none. */
#define REGROW_SETTLED_SHARE 0.01
#define REGROW_SETTLED_BYTES ((uint64_t)256 << 10)

/** Returns true if the cache has grown by no more than that within the last @p settle_s seconds,
 * which begin after the drop at the earliest. */
bool regrow_settled(const struct regrow_curve *curve, double settle_s);

/** Bytes that came back until point @p i, those read during the drop included. */
uint64_t regrow_back_bytes(const struct regrow_curve *curve, size_t i);

/** Bytes read from disks between the reading before the drop and point @p i. */
uint64_t regrow_disk_read_bytes(const struct regrow_curve *curve, size_t i);

/** Seconds in which a task waited for I/O since the reading before the drop; NAN: not known. */
double regrow_io_wait_s(const struct regrow_curve *curve, size_t i);

/** Pages that were reclaimed and wanted again since then; KEYED_UNKNOWN where the kernel does not
 * say. */
uint64_t regrow_refault_pages(const struct regrow_curve *curve, size_t i);

/**
 * The knee: the point furthest above the straight line from nothing, as the drop begins, to the
 * last point (Satopaa et al.,
 * "Finding a Kneedle in a Haystack", 2011, without its smoothing).
 * @return false: there is none, for nothing came back, or it came back evenly up to the last point
 */
bool regrow_knee(const struct regrow_curve *curve, size_t *knee);

/** The result of the whole curve, in bytes. A count of pages may be KEYED_UNKNOWN. */
struct regrow_result {
    uint64_t dropped_bytes;
    uint64_t kept_bytes;         /* that was not dropped: an estimate, as it says above */
    uint64_t read_in_drop_bytes; /* from disks */
    uint64_t back_bytes;         /* at the last point */
    uint64_t need_low_bytes;     /* what came back after the drop */
    uint64_t need_high_bytes;    /* all page cache of files at the last point */
    uint64_t disk_read_bytes;
    uint64_t swap_in_pages;
    uint64_t scanned_pages; /* by reclaim of the whole machine; at limits of control groups, none */
    uint64_t refault_pages; /* as regrow_refault_pages() */
    bool reclaim;           /* one of both is above 0: the cache may have been cut as it grew */
    bool reclaim_unknown;   /* neither is known to be, and one of them is not known */
    bool written; /* need_low_bytes is more than the disks delivered: files were written, say */
};

/** The curve has at least one point. */
struct regrow_result regrow_result(const struct regrow_curve *curve);
