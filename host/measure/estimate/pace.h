// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file pace.h  How often to measure: seldom while nothing changes, every period when something
 * does.
 *
 * Intermittent tracking (W. Zhao, X. Jin, Z. Wang, X. Wang, Y. Luo, X. Li: Low cost working set
 * size tracking, USENIX ATC 2011): a working set that was stable is probably stable now. While
 * successive intervals overlap the period doubles, up to a limit; the first that does not overlap
 * brings it back to one. Pure functions.
 */
#pragma once

#include <stdint.h>

struct pace {
    double base_s; /* the period asked for, and the shortest */
    double max_s;  /* the longest; base_s: never stretched */
    double period_s;
    uint64_t low_bytes, high_bytes; /* of the last measurement; high 0: there was none */
};

struct pace pace_start(double base_s, double max_s);

/** Other limits from now on: what the period was stretched to stays, within them. */
void pace_limit(struct pace *pace, double base_s, double max_s);

/** Nothing is known of the last measurement any more: begins anew with the base period. */
void pace_forget(struct pace *pace);

/**
 * Takes in one measurement.
 * @param slack_bytes  what two intervals may lie apart and still count as overlapping; for a
 *                     census, whose intervals have hardly a width
 * @return seconds from the begin of this measurement to the begin of the next
 */
double pace_next(struct pace *pace, uint64_t low_bytes, uint64_t high_bytes, uint64_t slack_bytes);
