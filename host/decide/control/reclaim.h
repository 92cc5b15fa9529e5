// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file reclaim.h  How much cold memory of one guest the kernel is asked to reclaim, by
 * memory.reclaim of the guest's control group. Pure functions.
 *
 * Theory of operation. A balloon takes what a guest can spare; the host's reclaim takes what the
 * guest does not touch, whether it knows or not: cold anonymous memory, and memory of a guest
 * without a driver. It goes to the host's swap and comes back page by page when it is touched, so
 * what a guest *uses* is no floor here, and what it touches is:
 *
 *   keep  = max(D, m, learned) + W          (decide.h), at most M
 *   cold  = R - keep, if that is at least the band
 *   room  = what is free of the swap beyond a quarter of all of it
 *   step  = min(cold, 5 % of R, 256 MiB, a quarter of the room), in whole MiB
 *
 * All guests of one decision together take no more than that quarter of the room (control.h).
 *
 * A step waits until less has been enough for as many decisions as a balloon waits and for ten
 * minutes, however short the host is, for what swap takes wrongly costs more than what a balloon
 * does; and for a record of the guest that was begun after the last step. All vetoes of decide.h
 * hold but the one for missing statistics, which only say what a guest uses.
 *
 * What is taken too much is seen by the host alone, in the control group: the kernel counts each
 * page that it brings back (workingset_refault_anon, Documentation/admin-guide/cgroup-v2.rst) and
 * the time that the group's tasks waited for memory (memory.pressure). More refaults than 0.2 % of
 * the WSS, or 1 MiB, within a minute (Lagar-Cavilla et al., ASPLOS 2019), or PSI some of 0.1 %
 * (TMO, ASPLOS 2022), and nothing is reclaimed for ten minutes, then for twice as long, up to an
 * hour. So does a kernel that finds less than half of what was asked for, three times in a row.
 *
 * A guest whose balloon was given a target in this decision, or moves, is not reclaimed from: each
 * actuator is judged by the resident memory.
 */
#pragma once

#include "decide/advice/decide.h"

/** One part in so many of the swap is left free. */
#define RECLAIM_SWAP_KEPT 4

struct reclaim_policy {
    bool on;
    double step_share;           /* of R: 0.05 */
    uint64_t step_max_bytes;     /* 256 MiB */
    double swap_share;           /* of the room in swap, a decision: 0.25 */
    double window_s;             /* that refaults and pressure are taken over: 60 */
    double refault_share;        /* of the WSS, a minute: 0.002 */
    uint64_t refault_min_bytes;  /* likewise, at least: 1 MiB */
    double psi_some;             /* share of time: 0.001 */
    double stale_s;              /* an older look at the group counts for nothing: 60, or two
                                    intervals of the caller */
    unsigned little_max;         /* 3 */
    double pause_s, pause_max_s; /* 600, 3600 */
};
extern const struct reclaim_policy reclaim_policy_default;

/** The guest's control group, as it was looked at last. */
struct reclaim_group {
    double seen_s;            /* of the clock of control_host; 0: never */
    char refused[160];        /* why it must not, or cannot, be reclaimed from; "": it can */
    uint64_t swap_room_bytes; /* that the group may still put into the swap that is allowed */
    uint64_t refault_bytes;   /* since the group was made */
    double pressure_s;        /* likewise, PSI some; NAN: the kernel does not say */
};

/** Why nothing is reclaimed. */
enum reclaim_hold {
    RECLAIM_OFF,
    RECLAIM_NONE,
    RECLAIM_BALLOON,  /* its balloon gives, or is left alone with the guest */
    RECLAIM_UNKNOWN,  /* its group has not been looked at */
    RECLAIM_REFUSED,  /* its group cannot be reclaimed from */
    RECLAIM_VETO,     /* a veto, or it is short of memory */
    RECLAIM_PAUSE,    /* what was taken came back */
    RECLAIM_ENOUGH,   /* little is cold */
    RECLAIM_SWAP,     /* no room */
    RECLAIM_SETTLING, /* no record since the last step */
    RECLAIM_WAITING,  /* less is enough, but not for long enough yet */
    RECLAIM_BUSY,     /* a job runs on the domain, or the last write goes on */
    RECLAIM_OTHERS,   /* nothing is missing on the host */
};

/** Why it pauses. */
enum reclaim_pause {
    RECLAIM_PAUSE_PANIC,
    RECLAIM_PAUSE_REFAULTS,
    RECLAIM_PAUSE_PRESSURE,
    RECLAIM_PAUSE_LITTLE
};

/** All zero in the beginning. */
struct reclaim_state {
    unsigned n_lower; /* decisions in a row in which something was cold */
    double lower_since_s;
    double taken_from_s; /* what refaults and pressure are counted from; 0: not yet */
    uint64_t refaults_from_bytes;
    double pressure_from_s;
    double pause_s, paused_until_s, asked_at_s; /* 0: there was none */
    enum reclaim_pause pause;                   /* the last one */
    uint64_t refault_bytes;                     /* that came back before it */
    double waited_s;                            /* for memory, likewise */
    unsigned n_little;
};

/** Takes in what is known of its group; for every guest, at each decision. */
void reclaim_observe(struct reclaim_state *state, const struct reclaim_policy *policy,
                     const struct reclaim_group *group, const struct decide_input *input,
                     double now_s);

/** What a guest keeps whatever is reclaimed. */
uint64_t reclaim_keep(const struct decide_input *input, const struct decide_decision *decision);

/** What its room in swap allows in one decision. The room of a group without a limit of its own is
 * the host's: then it is for all guests together. */
uint64_t reclaim_room(const struct reclaim_policy *policy, const struct reclaim_group *group);

/** How much may be reclaimed now, and in @p hold why it is nothing. After reclaim_observe(); once a
 * decision, of a guest whose balloon does not give. */
uint64_t reclaim_step(struct reclaim_state *state, const struct reclaim_policy *policy,
                      const struct decide_policy *decide, const struct reclaim_group *group,
                      const struct decide_input *input, const struct decide_decision *decision,
                      double now_s, enum reclaim_hold *hold);

/** The kernel is asked now, or has answered just now. */
void reclaim_asked(struct reclaim_state *state, double now_s);

/** No pause ends before that: after a panic. */
void reclaim_pause_until(struct reclaim_state *state, double until_s);

/** What it reclaimed of what it was asked for. */
void reclaim_answered(struct reclaim_state *state, const struct reclaim_policy *policy,
                      uint64_t asked_bytes, uint64_t got_bytes, double now_s);
