// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file curve.h  How the page cache grew back after it was dropped. Pure functions over the
 * readings.
 *
 * Only files that are read again come back to the cache. Pages that could not be dropped (mapped,
 * dirty, under writeback, locked, or of file systems in memory) stayed, and it is not known whether
 * they are needed. So the need has two bounds.
 *
 * The kernel drops inode by inode, and a fast reader brings back much meanwhile: 14 of the 20 MiB
 * that an emulated guest read in a loop. So bytes read from disks during the drop count as come
 * back. This is an estimate, because some of them may have been dropped again; the lower bound of
 * the need excludes them.
 */
#pragma once

#include "regrow/reading.h"

#include <stdbool.h>
#include <stddef.h>

struct regrow_point {
    double after_s; /* time since the drop began */
    double unix_s;
    struct regrow_reading reading;
};

struct regrow_curve {
    struct regrow_reading before; /* the drop */
    struct regrow_point *point;   /* the first point is right after the drop */
    size_t n;
};

/** Appends a point. 0 or -ENOMEM. */
int regrow_curve_add(struct regrow_curve *curve, const struct regrow_point *point);
void regrow_curve_free(struct regrow_curve *curve);

/** Growth below this share of what came back, or below REGROW_SETTLED_BYTES, counts as no
 * growth. */
#define REGROW_SETTLED_SHARE 0.01
#define REGROW_SETTLED_BYTES ((uint64_t)256 << 10)

/** Returns true if the cache has not grown (as defined above) in the last @p settle_s seconds,
 * which must lie after the drop. */
bool regrow_settled(const struct regrow_curve *curve, double settle_s);

/** Bytes that came back until point @p i, including those read during the drop. */
uint64_t regrow_back_bytes(const struct regrow_curve *curve, size_t i);

/** Bytes read from disks between the reading before the drop and point @p i. */
uint64_t regrow_disk_read_bytes(const struct regrow_curve *curve, size_t i);

/** Seconds in which a task waited for I/O since the reading before the drop; NAN: not known. */
double regrow_io_wait_s(const struct regrow_curve *curve, size_t i);

/** Pages refaulted since that reading; KEYED_UNKNOWN if the kernel does not report them. */
uint64_t regrow_refault_pages(const struct regrow_curve *curve, size_t i);

/**
 * The knee: the point furthest above the straight line from zero, when the drop begins, to the last
 * point (Satopaa et al., "Finding a Kneedle in a Haystack", 2011, without its smoothing).
 * @return false if there is no knee, because nothing came back, or the cache grew evenly up to the
 *         last point
 */
bool regrow_knee(const struct regrow_curve *curve, size_t *knee);

/** The result of the whole curve, in bytes. Numbers of pages may be KEYED_UNKNOWN. */
struct regrow_result {
    uint64_t dropped_bytes;
    uint64_t kept_bytes;         /* estimate of what was not dropped, see above */
    uint64_t read_in_drop_bytes; /* from disks */
    uint64_t back_bytes;         /* what came back until the last point */
    uint64_t need_low_bytes;     /* what came back after the drop */
    uint64_t need_high_bytes;    /* page cache of files at the last point */
    uint64_t disk_read_bytes;
    uint64_t swap_in_pages;
    /* scanned by global reclaim; reclaim at limits of control groups is not counted */
    uint64_t scanned_pages;
    uint64_t refault_pages; /* as regrow_refault_pages() */
    /* scanned or refaulted pages are above 0: reclaim may have limited the cache's growth */
    bool reclaim;
    bool reclaim_unknown; /* some of these numbers are unknown, and none is above 0 */
    /* need_low_bytes exceeds what was read from disks: for example files were written */
    bool written;
};

/** Computes the result. The curve has at least one point. */
struct regrow_result regrow_result(const struct regrow_curve *curve);
