// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file from_history.h  Builds the input of a decision from what the history keeps of a guest. Pure
 * functions.
 *
 * The history does not record what the balloon leaves the guest (B): it stays DECIDE_UNKNOWN unless
 * the caller asks libvirt. Nor does it record whether the guest is Windows, whether its memory is
 * locked (except through what is unmeasurable), or whether a disk backup runs: a caller that drives
 * balloons must ask libvirt for those.
 */
#pragma once

#include "decide/advice/day.h"
#include "decide/advice/decide.h"
#include "history/moments.h"
#include "measure/record/guest_tracker.h"

/** The three windows of the demand, in seconds, ascending. */
struct decide_windows {
    double short_s, mid_s, long_s;
};

/** 60 s, 600 s and 3600 s, as vmwssd keeps them unless configured otherwise. */
extern const struct decide_windows decide_windows_default;

#define DECIDE_WINDOWS_EXPECTED "up to three times, as in 60,600,3600 or 1m,10m,1h"

/** Parses one to three times into a struct decide_windows, ascending; with two, the second is both
 * the mid and the long window. Returns 0 or -EINVAL. */
int decide_windows_parse(void *windows, const char *list);

/**
 * Returns the index, among the @p n ascending windows, of the one to use for @p wanted_s: the
 * window itself, or the next longer, whose working set is no smaller, or else the longest; -1 if @p
 * n is 0.
 */
ssize_t decide_pick_window(const double *window_s, size_t n, double wanted_s);

/** Adds a minute or an hour to the day. */
void decide_day_from_moment(struct decide_day *day, const struct decide_windows *windows,
                            const struct history_moment *moment);

/** Fills in what a record, and the day before it, say. B, reservation, shares and the last panic
 * stay unknown.
 * @param last_report  the agent's last report, or NULL: only it has the guest's swap
 * @param reported_s   its time, Unix time
 * @param first_s      when the first record of the guest's process was added, Unix time */
void decide_from_record(struct decide_input *input, const struct decide_windows *windows,
                        const struct kept_sample *kept, struct decide_day *day, double now_s,
                        const struct agent_last_report *last_report, double reported_s,
                        double first_s);

/** Adds what the balloon driver's reports show of pressure. A counter that went backward belongs to
 * a guest that was reset: then nothing is known.
 * @p now_s: by the clock of the reports */
void decide_add_counters(struct decide_guest *guest, const struct guest_tracker *tracker,
                         double now_s);

/** Fills in what a minute in the history says, as if at its end: the largest WSS of each window and
 * the mean distance of its bounds. Minutes do not keep the guest's swap: it counts as having none.
 * @p up_s: seconds for which it has been up without a gap */
void decide_from_moment(struct decide_input *input, const struct decide_windows *windows,
                        const struct history_moment *moment, struct decide_day *day, double up_s);

/** The largest WSS of the long window in the moment; DECIDE_UNKNOWN: no window that long was
 * answered. */
uint64_t decide_reached(const struct decide_windows *windows, const struct history_moment *moment);
