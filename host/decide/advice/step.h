// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file step.h  From one decision to the next: how fast a balloon follows its target. Pure
 * functions.
 *
 * Up: the whole way at once. Down: only after the target was below for so many decisions in a row
 * and so long, and then at most the smallest of 5 % of B, 256 MiB and half of what the guest has
 * available, each decision. After a panic nothing is taken for ten minutes; after one that comes
 * within an hour of the end of that pause for twice as long as the last time, up to an hour.
 * One that comes within a minute of the last is the same one.
 *
 * While less than the level hard is free, or growth waits for what others give, a guest is asked
 * early: after three decisions and twenty seconds, which is what three ordinary decisions take;
 * while a guest panics there is one every two seconds. With ten minutes a panic that took what was
 * free left the host below hard for six of them (tests/bench/README.md, the hour). A guest known
 * for less than the ten minutes, as all are after a start, is not: the pause after its last panic
 * is forgotten then.
 *
 * After growth of more than the band nothing is taken for an hour, so that a balloon turns at most
 * twice an hour: without that a load that comes and goes every half hour is followed up by the
 * factor of the short window, and down by that of the long one, four times an hour. While the host
 * is short, or growth waits, that does not hold: what a load left behind that has gone again is
 * what the next one waits for.
 *
 * A panic teaches a size only where the guest had less than all: at full size no balloon caused it.
 */
#pragma once

#include "decide/advice/decide.h"

/** What is remembered of a guest; all zero in the beginning. */
struct decide_pace {
    bool lower; /* the last decision wanted less, be it with a veto; since when: */
    double lower_since_s;
    unsigned n_lower; /* decisions in a row that did, from one without a veto on; since when: */
    double agreed_since_s;
    double known_since_s; /* 0: not yet */
    bool panicking;
    uint64_t low_bytes; /* the least that it had since it was last taken something; 0: unknown */
    bool turned;        /* it has grown since */
    double turned_at_s;
    double pause_s, paused_until_s; /* the last pause; 0: there was none */
    uint64_t panic_bytes;           /* for decide_input */
    double panic_at_s;
    double panicked_s; /* its last decision with a panic */
};

/** Puts into the input what the pace remembers of a panic. */
void decide_remember(const struct decide_pace *pace, double now_s, struct decide_input *input);

/** Are twenty seconds enough, in place of the ten minutes? */
bool decide_is_asked_early(const struct decide_pace *pace, const struct decide_policy *policy,
                           const struct decide_input *input, double now_s);

/** The size to set next, which may be the one that it has. @p now_s: of any clock that is never set
 * back. */
uint64_t decide_step(struct decide_pace *pace, const struct decide_policy *policy,
                     const struct decide_input *input, const struct decide_decision *decision,
                     double now_s);
