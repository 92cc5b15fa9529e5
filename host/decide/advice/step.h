// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file step.h  From one decision to the next: how fast a balloon follows its target. Pure
 * functions.
 *
 * Up: the whole way at once. Down: only after the target has been below for a number of decisions
 * in a row and a length of time, and then each decision takes at most the smallest of 5 % of B, 256
 * MiB and half of what the guest has available. Of a guest of more than 64 GiB it is M / 256 in
 * place of 256 MiB: a quarter of 1 TiB would take half a day otherwise. While free memory is below
 * the level hard, or growth waits for donors, there is neither: 256 MiB of a donor of 64 GiB, every
 * 40 s, left a guest of 2 GiB to its OOM killer for ten minutes (control.c takes no more than is
 * missing then). After a panic nothing is taken for ten minutes. A panic within an hour of the end
 * of that pause makes a pause twice as long as the last one, up to an hour. Panics less than a
 * minute apart are one panic.
 *
 * While free memory is below the level hard, or growth waits for donors, a guest is asked early:
 * after three decisions and twenty seconds, which is how long three ordinary decisions take (while
 * a guest panics there is a decision every two seconds). With ten minutes, a panic that used up the
 * free memory left the host below hard for six of them (tests/bench/results/balloons.md, the hour).
 * A guest known for less than ten minutes, as all are after a start, is not asked early: the pause
 * after its last panic is not known then.
 *
 * After growth nothing is taken for an hour, so that a balloon turns at most
 * twice an hour. Without that pause, a balloon follows a load that comes and goes every half hour
 * up by the factor of the short window and down by that of the long one, four times an hour. The
 * pause does not hold while the host is short or growth waits: memory left behind by a load that
 * has gone is needed for the next one.
 *
 * While the guest's pressure (PSI, or allocations that wait) is at a panic's level, its size and
 * its pressure at the beginning are remembered: if it has more since, by more than the band, and
 * settled statistics show three quarters of that pressure or more, memory does not cure it, and it
 * is no panic any more until it has fallen.
 *
 * A panic teaches a size only if the guest had less than all its memory: at full size the balloon
 * cannot have caused it.
 */
#pragma once

#include "decide/advice/decide.h"

/** State kept for a guest; starts as all zero. */
struct decide_pace {
    bool lower; /* the last decision wanted less, even if vetoed; since when: */
    double lower_since_s;
    unsigned n_lower; /* such decisions in a row, counted from one without a veto; since when: */
    double agreed_since_s;
    double known_since_s; /* 0: not yet */
    bool panicking;
    bool turned; /* it has grown */
    double turned_at_s;
    double pause_s, paused_until_s; /* the last pause; 0: there was none */
    struct {
        uint64_t bytes; /* size at the beginning; 0: it is not under pressure */
        double times;   /* how much, of what is a panic, then */
        bool unhelped;
    } pressure;
    /* Input for decide_input: what it has needed since its last panic; until that is known,
     * somewhat more than it had then. */
    uint64_t panic_bytes;
    bool needs_known;
    bool killed; /* its OOM killer ran: what was left needs less than was needed */
    double panic_at_s;
    double panicked_s; /* its last decision with a panic */
};

/** Copies what the pace remembers of a panic into the input. */
void decide_remember(const struct decide_pace *pace, double now_s, struct decide_input *input);

/** Returns true if less would be enough. While the last step is being proven the target still
 * counts as lower: proving does not restart the ten minutes. */
bool decide_is_lower(const struct decide_input *input, const struct decide_decision *decision);

/** Returns true if twenty seconds are enough in place of the ten minutes. */
bool decide_is_asked_early(const struct decide_pace *pace, const struct decide_policy *policy,
                           const struct decide_input *input, double now_s);

/** Returns the largest step down, and of what is given back, whatever the guest has. */
uint64_t decide_step_most(const struct decide_policy *policy, const struct decide_input *input);

/** Returns the size to set next, which may be the current one. @p now_s: of any clock that is never
 * set back. */
uint64_t decide_step(struct decide_pace *pace, const struct decide_policy *policy,
                     const struct decide_input *input, const struct decide_decision *decision,
                     double now_s);
