// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file balloon_state.h  What a balloon does after it was given a target. Pure functions.
 *
 * Theory of operation. A target is a wish: the guest's driver follows it, slowly, in part, or not
 * at all, and even a balloon that inflates may return nothing to the host (VFIO, locked memory, a
 * background snapshot). So a balloon is watched:
 *   - while it moves to its target it gets no other, but for a panic;
 *   - five seconds without progress, or a minute in all, and what it has becomes its target: a
 * Linux driver otherwise retries for ever. Three times in a row without a single byte: there is no
 * driver, and the guest is inhibited. An order that failed, but may have reached the guest, counts
 * as a target that is set, and proves nothing about its driver;
 *   - 30 s after it has shrunk the resident memory must be no more than what it has and 64 MiB. If
 *     it is more, the host got nothing: the guest is inhibited, and gets back what it had. Until
 *     that is known nothing more is taken;
 *   - what a guest uses is known only of statistics that were made while its balloon rested: those
 *     of before are not held against what it has now;
 *   - a balloon that rises by itself to no more than what the guest had is deflated by the guest,
 *     which had no other memory left (deflate-on-oom): what it has becomes its target, and nothing
 *     is taken for ten minutes;
 *   - one that moves otherwise without a target of ours is moved by another hand (MOM, virsh
 *     setmem): it is left alone for an hour after the last such move, but for a panic, and no
 *     longer ours to restore. One that was on its way when it was seen first was set before: by a
 *     controller that has just ended, for instance. That counts as no move until it has come to
 *     rest, and until then nothing is done but for a panic: what it has under way is not what it
 *     had.
 *
 * Growing resident memory is to be expected after a guest grew: what it was given and has not
 * touched yet is pending, and counts as gone from the host's free memory.
 */
#pragma once

#include "decide/advice/step.h"

enum balloon_trouble {
    TROUBLE_NONE,
    TROUBLE_NO_DRIVER, /* three targets, and it did not move: inhibited */
    TROUBLE_NO_RETURN, /* it inflates, and the host gets nothing: inhibited */
    TROUBLE_FOREIGN,   /* another hand moves it */
};

struct balloon_policy {
    double progress_s;     /* 5 */
    double move_s;         /* 60, for all of a move */
    unsigned stalls_max;   /* 3 */
    double return_s;       /* 30 */
    uint64_t return_bytes; /* 64 MiB */
    double foreign_s;      /* 3600 */
    double own_pause_s;    /* after it has deflated by itself: 600 */
    uint64_t still_bytes;  /* less than this is no move: 1 MiB */
};
extern const struct balloon_policy balloon_policy_default;

/** All zero in the beginning. Times are of a clock that is never set back. */
struct balloon_state {
    struct decide_pace pace;
    uint64_t before_bytes; /* what it had before our first target; 0: it had none of ours */
    uint64_t seen_bytes;   /* what it had last; 0: not seen yet */
    bool rested;           /* at least once since then, or we have set it */
    bool moving;           /* to set_bytes, from from_bytes */
    bool unsure;           /* the order of set_bytes failed: the guest may not have got it */
    bool stalled;          /* what it has is to become its target */
    bool quiet;   /* what it had became its target a moment ago: what comes late is its own */
    bool proving; /* it has shrunk to set_bytes, and resident is to show it */
    uint64_t set_bytes, from_bytes;
    uint64_t mark_bytes; /* where it was at progress_at_s */
    double issued_at_s, progress_at_s, settled_at_s;
    uint64_t rest_bytes; /* it has had that, but for still_bytes, since rest_since_s */
    double rest_since_s;
    uint64_t used_bytes; /* by the last statistics of a balloon at rest; 0: there were none */
    unsigned n_stalls;   /* in a row */
    enum balloon_trouble trouble;
    double trouble_until_s; /* of TROUBLE_FOREIGN */
    uint64_t pending_bytes; /* given and not touched yet */
};

/** Takes in what the guest has now; for every guest, at each decision. */
void balloon_observe(struct balloon_state *state, const struct balloon_policy *policy,
                     const struct decide_input *input, double now_s);

/** What it says of the input: used_bytes, and whether its statistics are too old. After
 * balloon_observe(). */
void balloon_date(struct balloon_state *state, const struct balloon_policy *policy,
                  struct decide_input *input, double now_s);

/** A controller before this one has set it, and it had @p before_bytes then. It may be on its way.
 */
void balloon_adopt(struct balloon_state *state, const struct balloon_policy *policy,
                   const struct decide_input *input, uint64_t before_bytes, uint64_t set_bytes,
                   double now_s);

/** A target has been set, or may have been: then the caller sets unsure. @p input: what
 * balloon_observe() has seen. */
void balloon_issued(struct balloon_state *state, const struct decide_input *input,
                    uint64_t target_bytes, double now_s);

/** What it is to be left with in the end. It may be on its way up to more than it has, where it was
 * not seen at rest yet: then all that is assigned. */
uint64_t balloon_before(const struct balloon_state *state, const struct decide_input *input);

/** What it has, or will have once its balloon has moved up. */
uint64_t balloon_given(const struct balloon_state *state, const struct decide_input *input);

/** It may be on its way, or not have been asked: if it is needed, it is asked again. */
static inline bool balloon_is_unsure(const struct balloon_state *state)
{
    return state->moving && state->unsure;
}

/** No driver, or nothing comes back: it is not tried again. */
static inline bool balloon_is_inhibited(const struct balloon_state *state)
{
    return state->trouble == TROUBLE_NO_DRIVER || state->trouble == TROUBLE_NO_RETURN;
}
