// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file pace.h  Chooses how often to measure: seldom while the working set is stable, every period
 * when it changes.
 *
 * Intermittent tracking (W. Zhao, X. Jin, Z. Wang, X. Wang, Y. Luo, X. Li: Low cost working set
 * size tracking, USENIX ATC 2011): a working set that was stable is probably stable now. While the
 * confidence intervals of successive measurements overlap, the period doubles, up to a limit. When
 * two do not overlap, it returns to the base period. Pure functions.
 */
#pragma once

#include <stdint.h>

struct pace {
    double base_s; /* the requested period, which is also the shortest */
    double max_s;  /* the longest; base_s: never stretched */
    double period_s;
    /* 95 % interval of the last measurement; high 0: no measurement yet */
    uint64_t low_bytes, high_bytes;
};

struct pace pace_start(double base_s, double max_s);

/** Sets other limits; the stretched period stays, within the new limits. */
void pace_limit(struct pace *pace, double base_s, double max_s);

/** Forgets the last measurement and begins anew with the base period. */
void pace_forget(struct pace *pace);

/**
 * Takes in one measurement.
 * @param slack_bytes  distance up to which two intervals still count as overlapping; needed for a
 *                     census, whose intervals are very narrow
 * @return seconds from the begin of this measurement to the begin of the next
 */
double pace_next(struct pace *pace, uint64_t low_bytes, uint64_t high_bytes, uint64_t slack_bytes);
