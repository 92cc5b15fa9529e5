// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file decide.h  How much memory a guest should have: the control law, as pure functions over
 * plain structs.
 *
 * Theory of operation. A working set alone is not a safe size: a guest without swap cannot give
 * cold anonymous memory back, so a target below what it uses ends in its OOM killer, however small
 * its working set. So the target is the largest of what is touched (the demand D) and what cannot
 * be dropped (the floor F), and a list of vetoes keeps a guest from being shrunk on numbers that
 * are old, uncertain, or contradicted by the guest. All sizes are bytes of guest RAM:
 *
 *   M  assigned      B  actual: what the balloon leaves      R  resident      m  reservation
 *   H, L  upper and lower bound of the WSS over a window; short, mid and long: 60 s, 600 s and
 *         3600 s by default
 *
 *   D = max(1.25 H_short, 1.15 H_mid, 1.10 H_long, p99 of H_mid over 24 h)
 *   W = max(5 % of M, 128 MiB)                                       working reserve
 *   F = (B - available) + W                                          without swap, or not known
 *       (B - available) - min(swap free / 2, cold anonymous) + W     with swap
 *       max(M / 2, min(B, (B - available) + W))          of statistics that contradict the host's
 *       M / 2                                                        without fresh statistics
 *   learned = 1.2 x the size at the last panic, with a half-life of 24 h
 *   T = clamp(max(D, F, m, learned), m, M), in whole MiB, rounded up
 *
 * H and R are vmwssd's records; available, swap and pressure are the guest's own statistics, by its
 * agent or its balloon driver (measure/estimate/guest_stats.h); B is libvirt's. Where B is not
 * known it is taken to be M, which can only make the target larger.
 *
 * "Used" is B - available rather than the guest's MemTotal - MemAvailable: MemTotal lacks what the
 * kernel keeps for itself (its image, struct page, crashkernel=), which no balloon can take but
 * which is part of B; and with deflate-on-oom, or under Windows, MemTotal stays as it was and has
 * the balloon in it. B - available is right in both.
 *
 * B is the one of the time of the statistics, which come late: a balloon that moved meanwhile would
 * otherwise make a guest look as if it used less, by as much as was taken from it. Who moves
 * balloons says what the guest used when they rested (used_bytes), and that they did not
 * (unsettled).
 *
 * A target below B is advised only if it is below by more than the band (the largest of 64 MiB, 2 %
 * of M and the width of the interval), and no veto stands; otherwise B is kept. A target above B is
 * advised at once. On panic it is M.
 *
 * The thresholds have the values of struct decide_policy; the sources of the rules are: the floor
 * and the reserve, the experience of users of balloon managers that look at the host or at WSS
 * only; the idle tax, Waldspurger, OSDI 2002, section 5.1; PSI of 0.1 %, TMO (ASPLOS 2022);
 * refaults of 0.2 % of the WSS a minute, Google's far memory (ASPLOS 2019).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DECIDE_UNKNOWN UINT64_MAX
#define DECIDE_MIB (1ULL << 20)

/** Why a guest is not shrunk; a set of bits. Bits below VETO_COMPUTED are the caller's, the others
 * decide()'s. */
enum decide_veto {
    VETO_NOT_MEASURED = 1 << 0, /* no method can follow it */
    VETO_WINDOW =
        1 << 1, /* the long window is not answered: what is touched once an hour is not known */
    VETO_PAUSED = 1 << 2,    /* suspended: says nothing of what it needs */
    VETO_MIGRATING = 1 << 3, /* migration or save: QEMU may inhibit discards */
    VETO_DUMP = 1 << 4,      /* dump or snapshot: QEMU reads all of RAM */
    VETO_VFIO = 1 << 5,      /* inflates, and the host gets nothing back */
    VETO_HUGETLB = 1 << 6,   /* likewise: a balloon page is smaller than a host page */
    VETO_EXCLUDED = 1 << 7,  /* its owner does not want it */
    VETO_COMPUTED = 1 << 8,
    VETO_STALE = 1 << 8,         /* the number is older than three periods */
    VETO_YOUNG = 1 << 9,         /* up for less than ten minutes, or for an unknown time */
    VETO_UNMEASURABLE = 1 << 10, /* too much of what is resident could not be measured */
    VETO_PRESSURE = 1 << 11,     /* PSI: it waits for memory */
    VETO_REFAULTS = 1 << 12,     /* it swaps in, or reads again what it dropped */
    VETO_VERDICT = 1 << 13,      /* its statistics say that it needs about what it has, or more */
    VETO_UNSETTLED = 1 << 14,    /* its statistics are from before its balloon came to rest */
    VETO_STATISTICS = 1 << 15,   /* no fresh statistics that it can be trusted by, and they are
                                    required */
};
#define N_VETOES 16

/** Why a guest needs all of its memory at once; a set of bits. */
enum decide_panic {
    PANIC_PSI_SOME = 1 << 0,
    PANIC_PSI_FULL = 1 << 1,
    PANIC_AVAILABLE = 1 << 2, /* next to nothing is left to it */
    PANIC_OOM_KILL = 1 << 3,
    PANIC_WSS = 1 << 4, /* the lower bound of its WSS is nearly all that it has */
};
#define N_PANICS 5

/** What makes the advice less certain; a set of bits. */
enum decide_unsure {
    UNSURE_STATISTICS =
        1 << 0,           /* no statistics of the guest, or inconsistent ones: the floor is M / 2 */
    UNSURE_DAY = 1 << 1,  /* less than 20 h of records: no p99 of a day */
    UNSURE_WIDE = 1 << 2, /* the interval of H_mid is wider than 5 % of M */
    UNSURE_FLAGS =
        1 << 3, /* the record has flags that make it less certain; its bounds say how much */
    UNSURE_ACTUAL = 1 << 4, /* what the balloon leaves is not known */
    UNSURE_WINDOW = 1 << 5, /* a longer window stands for one that is not kept */
};
#define N_UNSURE 6

enum decide_confidence { CONFIDENCE_LOW, CONFIDENCE_MEDIUM, CONFIDENCE_HIGH };
enum decide_action { ACTION_KEEP, ACTION_SHRINK, ACTION_GROW };
/** The term that is the target. */
enum decide_term {
    TERM_DEMAND,
    TERM_FLOOR,
    TERM_RESERVATION,
    TERM_LEARNED,
    TERM_ASSIGNED,
    TERM_ACTUAL
};
enum decide_floor { FLOOR_HALF, FLOOR_SWAPLESS, FLOOR_SWAP };

struct decide_policy {
    double short_factor, mid_factor, long_factor; /* of H: 1.25, 1.15, 1.10 */
    double reserve_share;                         /* of M: 0.05 */
    uint64_t reserve_min_bytes;                   /* 128 MiB */
    double learned_factor, learned_half_life_s;   /* 1.2, 24 h */
    double band_share;                            /* of M: 0.02 */
    uint64_t band_min_bytes;                      /* 64 MiB */
    double stale_periods;                         /* 3 */
    double young_s;                               /* 600 */
    double unmeasurable_share;                    /* of R: 0.1 */
    double psi_some_veto;                         /* share of time: 0.001 */
    double refault_share_min;                     /* of the WSS, a minute: 0.002 */
    double psi_some_panic, psi_full_panic;        /* share of time: 0.1, 0.01 */
    double available_share_panic;                 /* of M: 0.025 */
    uint64_t available_min_panic_bytes;           /* 64 MiB */
    double wss_share_panic;                       /* L_short of B: 0.9 */
    double trust_min;                        /* agreement below which statistics are ignored: 0.5 */
    double idle_tax;                         /* k: 4, a tax of 75 % */
    unsigned down_decisions;                 /* 3 */
    double down_after_s;                     /* 600 */
    double down_urgent_s;                    /* likewise where the host is urgent: 20 */
    double down_share;                       /* of B, each: 0.05 */
    uint64_t down_max_bytes;                 /* 256 MiB */
    double panic_pause_s, panic_pause_max_s; /* 600, 3600 */
    double panic_calm_s;                     /* less than that between two: one panic; 60 */
    double turn_pause_s;                     /* from growth to the next shrinking: 3600 */
    bool needs_statistics; /* nothing is taken without fresh ones: false, for it is advice */
};
extern const struct decide_policy decide_policy_default;

/** WSS over one window. */
struct decide_wss {
    double window_s; /* the one that was taken; 0: there is none, and the bounds mean nothing */
    uint64_t low_bytes, high_bytes;
};

/** Statistics of the guest. DECIDE_UNKNOWN, for doubles NAN: not reported. */
struct decide_guest {
    bool reported;       /* false: nothing below means anything */
    double age_s;        /* of the statistics, at least */
    double late_s;       /* they may be older by so much */
    double period_s;     /* from one to the next, at most; 0: that of the records */
    uint64_t used_bytes; /* B - available when its balloon rested last; 0: B is the same since */
    double consistency;  /* 0 .. 1, of measure/estimate/consistency.h */
    uint64_t available_bytes;
    uint64_t swap_total_bytes, swap_free_bytes;
    uint64_t cold_anon_bytes;  /* anonymous memory on the inactive list */
    double psi_some, psi_full; /* share of the time between its last two reports: 0 .. 1 */
    double refault_bytes_s, swap_in_bytes_s; /* bytes per second */
    bool near_or_above;                      /* its verdict */
    bool oom_kill;                           /* between its last two reports */
};

struct decide_input {
    uint64_t assigned_bytes; /* M: above 0 */
    uint64_t actual_bytes;   /* B; DECIDE_UNKNOWN */
    uint64_t resident_bytes; /* R */
    uint64_t unmeasurable_bytes;
    uint64_t reserved_bytes; /* m */
    double shares;           /* S; 0: as many as it has MiB assigned */
    struct decide_wss short_wss, mid_wss, long_wss;
    uint64_t day_bytes;   /* p99 of H_mid over 24 h; DECIDE_UNKNOWN */
    double day_s;         /* the time that it stands on */
    double age_s;         /* of the newest record */
    double period_s;      /* from one record to the next, at most */
    double up_s;          /* of the guest; NAN: not known */
    unsigned vetoes;      /* enum decide_veto below VETO_COMPUTED */
    bool uncertain;       /* flags of the record */
    bool substituted;     /* a longer window was taken for one of the three */
    bool unsettled;       /* its balloon moved since the statistics were made, or what it took is
                             not proven to have come back */
    bool stalled;         /* it waited for memory a moment ago, as its agent reported at once; with
                             no regard to the statistics */
    bool host_short;      /* less than the level soft is free, or growth waits for others to give:
                             its own growth is no reason to wait */
    bool host_urgent;     /* less than hard is free, or growth waits: it is asked early (step.h) */
    uint64_t panic_bytes; /* B at its last panic; 0: it had none */
    double panic_age_s;
    struct decide_guest guest;
};

struct decide_decision {
    bool measured; /* false: no demand is known, and the target is what it has or more */
    uint64_t demand_short_bytes, demand_mid_bytes, demand_long_bytes,
        demand_day_bytes;   /* 0: not known */
    uint64_t demand_bytes;  /* D */
    uint64_t reserve_bytes; /* W */
    enum decide_floor floor_kind;
    uint64_t used_bytes,
        droppable_bytes;  /* B - available, and what of that swap can take; of FLOOR_HALF 0 */
    uint64_t floor_bytes; /* F, at most M */
    uint64_t learned_bytes;
    uint64_t wanted_bytes; /* T */
    uint64_t band_bytes;
    unsigned vetoes, panics, unsure;
    unsigned claims; /* enum decide_panic: by statistics that do not count as such */
    enum decide_confidence confidence;
    enum decide_action action;
    enum decide_term term; /* that the target comes from; TERM_ACTUAL: it is kept */
    uint64_t target_bytes; /* what it should have: T, or B where that is not to be taken away */
    uint64_t
        give_back_bytes; /* resident bytes that the host would get back at the target: R - target */
    double
        rho; /* bytes change hands from the lowest to the highest: Waldspurger 2002, section 5.1 */
};

/** B, or M where it is not known. */
uint64_t decide_actual(const struct decide_input *input);

/** Are there statistics of the guest that are complete, fresh and consistent enough to base a floor
 * on? */
bool decide_has_statistics(const struct decide_policy *policy, const struct decide_input *input);

/* The terms, each alone; at most M. */
uint64_t decide_demand(const struct decide_policy *policy, const struct decide_input *input,
                       struct decide_decision *decision);
uint64_t decide_reserve(const struct decide_policy *policy, uint64_t assigned_bytes);
uint64_t decide_floor(const struct decide_policy *policy, const struct decide_input *input,
                      struct decide_decision *decision);
uint64_t decide_learned(const struct decide_policy *policy, const struct decide_input *input);
uint64_t decide_band(const struct decide_policy *policy, const struct decide_input *input);

/** rho = S / (P (f + k (1 - f))), P = B in MiB, f = H_mid / B: the upper bound, so that uncertainty
 * is not taxed. */
double decide_rho(const struct decide_policy *policy, const struct decide_input *input);

unsigned decide_vetoes(const struct decide_policy *policy, const struct decide_input *input);
unsigned decide_panics(const struct decide_policy *policy, const struct decide_input *input);
/** What would be panics if its statistics agreed with the host's numbers, or were complete; and a
 * stall without fresh statistics. */
unsigned decide_claims(const struct decide_policy *policy, const struct decide_input *input);

/** All of it. Never fails: whatever is unknown makes the target larger, or keeps what is. */
void decide(const struct decide_policy *policy, const struct decide_input *input,
            struct decide_decision *decision);
