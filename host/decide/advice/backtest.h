// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file backtest.h  Replays decisions over recorded inputs, and scores them by what followed. Pure
 * functions.
 *
 * The guest begins with all that is assigned; each minute there is a decision, and the size follows
 * by decide_step(). The long window (an hour) that ends an hour after a decision holds exactly what
 * the guest touched since the decision: if that is more than the target, the decision counts as
 * exceeded. The minute's largest WSS counts, without its headroom or bound.
 *
 * The recorded guest had all its memory: a replay cannot know whether it would have refaulted or
 * swapped with less.
 */
#pragma once

#include "decide/advice/step.h"

struct backtest_pending {
    bool used;
    int64_t start_s;
    uint64_t target_bytes, size_bytes;
};

struct backtest_result {
    uint64_t decisions, vetoed; /* minutes; and those with a veto */
    uint64_t scored;            /* decisions whose following hour is known */
    uint64_t exceeded;          /* scored decisions after which more was touched than the target */
    /* scored decisions after which more was touched than the size that followed */
    uint64_t size_exceeded;
    uint64_t worst_bytes; /* largest excess over the target */
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
    int direction;       /* direction of the last change */
    struct backtest_result result;
};

/** Returns the largest number of pending decisions. */
size_t backtest_room(double window_s, int step_s);

/** @p pending: an array of backtest_room() elements; the caller owns it. */
void backtest_begin(struct backtest *backtest, const struct decide_policy *policy, double window_s,
                    int step_s, struct backtest_pending *pending);

/**
 * Adds the next moment; moments come in the order of time. The replay supplies the last panic and
 * the actual size: the guest uses what it used then, and has available what remains of its size.
 * @param start_s        when it begins, in whole steps
 * @param reached_bytes  the largest WSS of the long window in it; DECIDE_UNKNOWN: the window was
 *                       not answered
 */
void backtest_see(struct backtest *backtest, int64_t start_s, const struct decide_input *input,
                  uint64_t reached_bytes);
