// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file from_history.h  From what the history keeps of a guest to the input of a decision. Pure
 * functions.
 *
 * The history has no cause to know what the balloon leaves the guest (B): it stays DECIDE_UNKNOWN
 * unless the caller asks libvirt. Neither does it know of Windows, of locked memory but by what is
 * unmeasurable, nor of a backup of disks; who drives balloons must ask libvirt for those.
 */
#pragma once

#include "decide/advice/day.h"
#include "decide/advice/decide.h"
#include "history/moments.h"

/** The three windows of the demand, in seconds, ascending. */
struct decide_windows {
    double short_s, mid_s, long_s;
};

/** 60 s, 600 s and 3600 s, as vmwssd keeps them unless configured otherwise. */
extern const struct decide_windows decide_windows_default;

#define DECIDE_WINDOWS_EXPECTED "up to three times, as in 60,600,3600 or 1m,10m,1h"

/** Of one to three times, ascending; of two both longer ones are the second. 0 or -EINVAL. */
int decide_windows_parse(struct decide_windows *windows, const char *list);

/**
 * The window of @p n, ascending, that stands for @p wanted_s: that one, or the next longer, which
 * has no smaller working set, or else the longest that there is. Its index; -1: there is none.
 */
ssize_t decide_pick_window(const double *window_s, size_t n, double wanted_s);

/** Adds a minute or an hour to the day. */
void decide_day_from_moment(struct decide_day *day, const struct decide_windows *windows,
                            const struct history_moment *moment);

/** What a record, and the day before it, says. B, reservation, shares and the last panic are left
 * unknown.
 *  @param last_report   the agent's last report, or NULL: it alone knows the guest's swap
 *  @param reported_s when, Unix time
 *  @param first_s when the first record of the guest's process was added, Unix time */
void decide_from_record(struct decide_input *input, const struct decide_windows *windows,
                        const struct kept_sample *kept, struct decide_day *day, double now_s,
                        const struct agent_last_report *last_report, double reported_s,
                        double first_s);

/** What is left of a minute says, as if at its end: of each window the largest WSS and the mean
 * distance of its bounds. The guest's swap is not kept of minutes: it counts as none.
 * @param up_s  since when it has been up without a gap, seconds */
void decide_from_moment(struct decide_input *input, const struct decide_windows *windows,
                        const struct history_moment *moment, struct decide_day *day, double up_s);

/** The largest WSS of the long window in the moment; DECIDE_UNKNOWN: none so long was answered. */
uint64_t decide_reached(const struct decide_windows *windows, const struct history_moment *moment);
