// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file backtest.h  Replays decisions over inputs of the past, and scores them by what came after.
 * Pure functions.
 *
 * The guest begins with all that is assigned; each minute there is a decision, and the size follows
 * by decide_step(). What was touched in the long window (an hour) that ends an hour after a
 * decision is exactly what the guest touched since: a decision is exceeded when that is more than
 * its target. The minute's largest WSS counts, without its headroom or bound.
 *
 * The guest of the past had its memory: what it would have done with less, refault or swap, no
 * replay can know.
 */
#pragma once

#include "decide/advice/step.h"

struct backtest_pending {
    bool used;
    int64_t start_s;
    uint64_t target_bytes, size_bytes;
};

struct backtest_result {
    uint64_t decisions, vetoed; /* minutes; of which a veto stood */
    uint64_t scored;            /* of which it is known what came */
    uint64_t exceeded;          /* of those, more was touched than the target */
    uint64_t size_exceeded;     /* likewise, than the size that followed it */
    uint64_t worst_bytes;       /* by how much, at most */
    uint64_t changes, shrinks, grows, reversals;
    double replayed_s;
    double saved_byte_s; /* integral of R - size, where that is above 0 */
};

struct backtest {
    struct decide_policy policy;
    struct decide_pace pace;
    int64_t step_s, horizon_s; /* the long window, in whole steps */
    struct backtest_pending *pending;
    size_t n_pending;
    uint64_t size_bytes; /* 0: not begun */
    int direction;       /* of the last change */
    struct backtest_result result;
};

/** How many pending decisions there can be. */
size_t backtest_room(double window_s, int step_s);

/** @p pending: backtest_room() of them, the caller's. */
void backtest_begin(struct backtest *backtest, const struct decide_policy *policy, double window_s,
                    int step_s, struct backtest_pending *pending);

/**
 * The next moment, in the order of time. The last panic is the replay's, and so is the actual size:
 * what the guest uses is what it used then, and what it has available less.
 * @param start_s        when it begins, in whole steps
 * @param reached_bytes  the largest WSS of the long window in it; DECIDE_UNKNOWN: it was not
 *                       answered
 */
void backtest_see(struct backtest *backtest, int64_t start_s, const struct decide_input *input,
                  uint64_t reached_bytes);
