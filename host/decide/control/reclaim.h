// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file reclaim.h  How much cold memory of one guest the kernel is asked to reclaim through
 * memory.reclaim of the guest's control group. Pure functions.
 *
 * Theory of operation. A balloon takes what a guest can spare; the host's reclaim takes what the
 * guest does not touch, without the guest's knowledge: cold anonymous memory, and memory of a guest
 * without a driver. It goes to the host's swap and comes back page by page when it is touched, so
 * the floor here is not what a guest *uses* but what it touches:
 *
 *   keep  = max(D, m, learned) + W          (decide.h), at most M
 *   cold  = R - keep, if that is at least the band
 *   room  = free swap beyond a quarter of all swap
 *   step  = min(cold, 5 % of R, 256 MiB, a quarter of the room), in whole MiB
 *
 * All guests of one decision together take no more than that quarter of the room (control.h).
 *
 * A step waits until the guest has needed less for as many decisions as a balloon waits and for ten
 * minutes, however short the host is, because a page swapped out by mistake costs more than one
 * ballooned by mistake. It also waits for a record of the guest that was begun after the last step.
 * All vetoes of decide.h hold except the one for missing statistics, which only show what a guest
 * uses.
 *
 * Only the host sees that too much was taken, in the control group: the kernel counts each page
 * that it brings back (workingset_refault_anon, Documentation/admin-guide/cgroup-v2.rst) and the
 * time that the group's tasks waited for memory (memory.pressure). After more refaults than 0.2 %
 * of the WSS, or 1 MiB, within a minute (Lagar-Cavilla et al., ASPLOS 2019), or PSI some of 0.1 %
 * (TMO, ASPLOS 2022), nothing is reclaimed for ten minutes, then for twice as long, up to an hour.
 * The same pause follows if the kernel finds less than half of the requested amount, three times in
 * a row.
 *
 * A guest whose balloon was given a target in this decision, or moves, is not reclaimed from: both
 * actuators are judged by the resident memory.
 */
#pragma once

#include "decide/advice/decide.h"

/** Free swap is kept at 1 / RECLAIM_SWAP_KEPT of all swap. */
#define RECLAIM_SWAP_KEPT 4

struct reclaim_policy {
    bool on;
    double step_share;          /* share of R: 0.05 */
    uint64_t step_max_bytes;    /* 256 MiB */
    double swap_share;          /* share of the swap room for one decision: 0.25 */
    double window_s;            /* span over which refaults and pressure are summed: 60 */
    double refault_share;       /* share of the WSS, per minute: 0.002 */
    uint64_t refault_min_bytes; /* at least: 1 MiB */
    double psi_some;            /* share of time: 0.001 */
    /* a reading of the group older than this is not used: 60, or two intervals of the caller */
    double stale_s;
    unsigned little_max;         /* 3 */
    double pause_s, pause_max_s; /* 600, 3600 */
};
extern const struct reclaim_policy reclaim_policy_default;

/** The guest's control group, as last read. */
struct reclaim_group {
    double seen_s;            /* time of the reading, of the clock of control_host; 0: never */
    char refused[160];        /* why it must not, or cannot, be reclaimed from; "": it can be */
    uint64_t swap_room_bytes; /* room that the group has left in its allowed swap */
    uint64_t refault_bytes;   /* since the group was made */
    /* PSI some since the group was made; NAN: the kernel does not report it */
    double pressure_s;
};

/** Reason why nothing is reclaimed. */
enum reclaim_hold {
    RECLAIM_OFF,
    RECLAIM_NONE,
    RECLAIM_BALLOON,  /* its balloon gives, or neither balloon nor reclaim may touch the guest */
    RECLAIM_UNKNOWN,  /* its group has not been read */
    RECLAIM_REFUSED,  /* its group cannot be reclaimed from */
    RECLAIM_VETO,     /* a veto, or it is short of memory */
    RECLAIM_PAUSE,    /* reclaimed memory came back */
    RECLAIM_ENOUGH,   /* little is cold */
    RECLAIM_SWAP,     /* no room in swap */
    RECLAIM_SETTLING, /* no record since the last step */
    RECLAIM_WAITING,  /* it needs less, but not for long enough yet */
    RECLAIM_BUSY,     /* a job runs on the domain, or the last write is not finished */
    RECLAIM_OTHERS,   /* nothing is missing on the host */
};

/** Reason for a pause. */
enum reclaim_pause {
    RECLAIM_PAUSE_PANIC,
    RECLAIM_PAUSE_REFAULTS,
    RECLAIM_PAUSE_PRESSURE,
    RECLAIM_PAUSE_LITTLE
};

/** Starts as all zero. */
struct reclaim_state {
    unsigned n_lower; /* decisions in a row in which memory was cold */
    double lower_since_s;
    double taken_from_s; /* start of the count of refaults and pressure; 0: not yet */
    uint64_t refaults_from_bytes;
    double pressure_from_s;
    double pause_s, paused_until_s, asked_at_s; /* 0: there was none */
    enum reclaim_pause pause;                   /* reason for the last pause */
    uint64_t refault_bytes;                     /* refaults before the last pause */
    double waited_s;                            /* waited for memory before the last pause */
    unsigned n_little;
};

/** Returns the size that reclaim always leaves to a guest. */
uint64_t reclaim_keep(const struct decide_input *input, const struct decide_decision *decision);

/** Notes that the kernel is being asked now, or has just answered. */
void reclaim_asked(struct reclaim_state *state, double now_s);

/** Extends any pause to that time, for instance after a panic. */
void reclaim_pause_until(struct reclaim_state *state, double until_s);

/** Notes how much of the requested amount the kernel reclaimed. */
void reclaim_answered(struct reclaim_state *state, const struct reclaim_policy *policy,
                      uint64_t asked_bytes, uint64_t got_bytes, double now_s);

struct control_guest;
struct control_policy;

/** Has the guests whose balloons have no order give the @p wanted bytes that balloons did not,
 * lowest rho first. UINT64_MAX: all they can. */
void reclaim_missing(const struct control_policy *policy, struct control_guest *guests, size_t n,
                     uint64_t wanted, double now_s);
