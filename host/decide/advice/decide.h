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
 *   D = max(1.25 H_short, 1.15 H_mid, 1.10 H_long, max of H_mid over 24 h)
 *                                                 each headroom (0.25 H_short ...) is at most W
 *   W = max(5 % of M, above 64 GiB 1 % of the rest, 128 MiB)         working reserve
 *   F = (B - available) + W                                          without swap, not known, or
 *                                                                    for a day after a panic
 *       (B - available) - min(swap free / 2, cold anonymous) + W     with swap
 *       max(M / 2, min(B, (B - available) + W))          of statistics that contradict the host's
 *       M / 2                                                        without fresh statistics
 *   learned = what was needed at the last panic, with a half-life of 24 h
 *   past = max(max of H_mid, max of what it used + W) over 36 days, unless the host is short
 *   T = clamp(max(D, F, m, learned, min(past, B)), m, M), in whole MiB, rounded up
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
 * B is the actual size at the time of the statistics, which come late: otherwise a balloon that has
 * moved since would make a guest look as if it used less, by as much as was taken from it. A caller
 * that moves balloons passes what the guest used while its balloon was at rest (used_bytes), and
 * whether the balloon has moved since the statistics (unsettled).
 *
 * The headroom of a large guest is the reserve, as both are for what a load grows by until it is
 * answered, which takes seconds and not a share of the load. A quarter of a working set of 2.4 GiB
 * cost 10 points of the hour's oracle (tests/bench/results/balloons.md), and no load of the
 * simulation needed it.
 *
 * A day of history does not show needs that recur weekly or monthly, so past holds the largest need
 * of a longer time. The backtest counts the decisions whose target would have been exceeded
 * nevertheless; above a stated share of them nothing is taken. Nothing is taken before a day is
 * known, either. These three rules protect the guest, and do not apply while the host is short
 * (below the level soft), because then the alternative is the host's OOM killer. MemTotal minus
 * available lacks what the guest's kernel keeps for itself: that is B minus MemTotal.
 * Where MemTotal does not follow the balloon (deflate-on-oom, Windows) what was used is not known.
 *
 * A controller gives no more than the limit, which its owner has set by the balloon's size at the
 * start
 * (<currentMemory>): where there is one, no target is above the larger of it and B.
 *
 * A target below B is advised only if it is below by more than the band (the largest of 64 MiB, 2 %
 * of M and the width of the interval), and no veto stands; otherwise B is kept. A target above B by
 * more than W / 4 is advised at once; by less only up to the reservation, or on panic: the reserve
 * is there to be used, and a balloon that follows each MiB turns all the time. On panic it is M.
 *
 * PSI is a panic only while little is available, less than 2 W (a stall that was reported since the
 * statistics: less than B / 2 as well), and only until more memory has not lowered it: containers
 * at limits of their own raise the guest's PSI while gigabytes are available, and no growth cures
 * that. It remains a veto. The same holds for allocations that wait (direct reclaim), which the
 * balloon drivers of Linux 6.12 and later count: a few are a veto, one a second or more a panic.
 *
 * struct decide_policy holds the thresholds. The sources of the rules are: the floor and the
 * reserve, the experience of users of balloon managers that look at the host or at WSS only; the
 * idle tax, Waldspurger, OSDI 2002, section 5.1; PSI of 0.1 %, TMO (ASPLOS 2022); refaults of 0.2 %
 * of the WSS a minute, Google's far memory (ASPLOS 2019).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DECIDE_UNKNOWN UINT64_MAX
#define DECIDE_MIB (1ULL << 20)
/** Statistics dated later than now by more than this are not used: they were made before the host's
 * clock was set back, and their age is not known. */
#define DECIDE_SKEW_S 2

/** Why a guest is not shrunk; a set of bits. Bits below VETO_COMPUTED are the caller's, the others
 * decide()'s. */
enum decide_veto {
    VETO_NOT_MEASURED = 1 << 0, /* no method can follow it */
    /* the long window has no answer: memory that is touched once an hour is not known */
    VETO_WINDOW = 1 << 1,
    VETO_PAUSED = 1 << 2,    /* suspended: its WSS does not show what it needs */
    VETO_MIGRATING = 1 << 3, /* migration or save: QEMU may inhibit discards */
    VETO_DUMP = 1 << 4,      /* dump or snapshot: QEMU reads all of RAM */
    VETO_VFIO = 1 << 5,      /* inflates, and the host gets nothing back */
    /* a balloon page is smaller than a host page: the host gets nothing back */
    VETO_HUGETLB = 1 << 6,
    VETO_EXCLUDED = 1 << 7, /* the guest's owner excluded it */
    VETO_COMPUTED = 1 << 8,
    VETO_STALE = 1 << 8,         /* the newest record is older than three periods */
    VETO_YOUNG = 1 << 9,         /* up for less than ten minutes, or for an unknown time */
    VETO_UNMEASURABLE = 1 << 10, /* too much of its resident memory could not be measured */
    VETO_PRESSURE = 1 << 11,     /* PSI: the guest waits for memory */
    VETO_REFAULTS = 1 << 12,     /* it swaps in, or reads back what it dropped */
    VETO_VERDICT = 1 << 13,      /* its statistics show that it needs about what it has, or more */
    VETO_UNSETTLED = 1 << 14,    /* its statistics are from before its balloon came to rest */
    /* fresh statistics that can be trusted are required, and there are none */
    VETO_STATISTICS = 1 << 15,
    /* its records are of less than a day: what it needs at night is not known */
    VETO_DAY = 1 << 16,
    /* the backtest: too often it needed more than this law's targets, or it was not run yet */
    VETO_PAST = 1 << 17,
};
#define N_VETOES 18

/** Why a guest needs all of its memory at once; a set of bits. */
enum decide_panic {
    PANIC_PSI_SOME = 1 << 0,
    PANIC_PSI_FULL = 1 << 1,
    PANIC_AVAILABLE = 1 << 2, /* hardly any memory is available to the guest */
    PANIC_OOM_KILL = 1 << 3,
    PANIC_WSS = 1 << 4,    /* the lower bound of its WSS is nearly all of its memory */
    PANIC_STALLS = 1 << 5, /* allocations keep waiting for memory to be freed */
};
#define N_PANICS 6

/** Reasons why the advice is less certain; a set of bits. */
enum decide_unsure {
    UNSURE_STATISTICS =
        1 << 0,           /* no statistics of the guest, or inconsistent ones: the floor is M / 2 */
    UNSURE_DAY = 1 << 1,  /* less than 20 h of records: no maximum of a day */
    UNSURE_WIDE = 1 << 2, /* the interval of H_mid is wider than 5 % of M */
    UNSURE_FLAGS =
        1 << 3, /* the record has flags that make it less certain; its bounds say how much */
    UNSURE_ACTUAL = 1 << 4, /* the size that the balloon leaves the guest is not known */
    UNSURE_WINDOW = 1 << 5, /* a longer window is used in place of one that is not kept */
};
#define N_UNSURE 6

enum decide_confidence { CONFIDENCE_LOW, CONFIDENCE_MEDIUM, CONFIDENCE_HIGH };
enum decide_action { ACTION_KEEP, ACTION_SHRINK, ACTION_GROW };
/** The term that determines the target. */
enum decide_term {
    TERM_DEMAND,
    TERM_FLOOR,
    TERM_RESERVATION,
    TERM_LEARNED,
    TERM_ASSIGNED,
    TERM_ACTUAL,
    TERM_PAST
};
enum decide_floor { FLOOR_HALF, FLOOR_SWAPLESS, FLOOR_SWAP };

struct decide_policy {
    double short_factor, mid_factor, long_factor; /* factors of H: 1.25, 1.15, 1.10 */
    struct {
        double share;       /* share of M: 0.05; a fifth of it of what is above 64 GiB */
        uint64_t min_bytes; /* 128 MiB */
        /* PSI is a panic only while less is available than this many reserves: 2 */
        double scarce;
        double growth_band; /* share of the reserve that may be missing: 0.25 */
    } reserve;
    double learned_factor;                 /* of a size that was too little: 1.2 */
    double learned_half_life_s;            /* 24 h */
    double band_share;                     /* share of M: 0.02 */
    uint64_t band_min_bytes;               /* 64 MiB */
    double stale_periods;                  /* 3 */
    double young_s;                        /* 600 */
    double unmeasurable_share;             /* share of R: 0.1 */
    double psi_some_veto;                  /* share of time: 0.001 */
    double refault_share_min;              /* share of the WSS, per minute: 0.002 */
    double psi_some_panic, psi_full_panic; /* share of time: 0.1, 0.01 */
    double stalls_panic;                   /* allocations per second: 1 */
    double wss_share_panic;                /* L_short of B: 0.9 */
    /* consistency score below which statistics are ignored: 0.5 */
    double trust_min;
    double idle_tax;         /* k: 4, a tax of 75 % */
    unsigned down_decisions; /* 3 */
    double down_after_s;     /* 600 */
    /* used in place of down_after_s where the host is urgent: 20 */
    double down_urgent_s;
    double down_share;                       /* share of B, each: 0.05 */
    uint64_t down_max_bytes;                 /* 256 MiB */
    double panic_pause_s, panic_pause_max_s; /* 600, 3600 */
    double panic_calm_s;                     /* panics closer together than this count as one: 60 */
    double turn_pause_s;                     /* from growth to the next shrinking: 3600 */
    /* take nothing without fresh statistics: false, because this is advice */
    bool needs_statistics;
    struct {
        double exceeded_max; /* share of the backtest's decisions: 0.001 */
        double day_min_s;    /* seconds of records that must be there: 0, for advice */
        bool needed;         /* take nothing before the backtest was run: false, for advice */
    } past;
};
extern const struct decide_policy decide_policy_default;

/** WSS over one window. */
struct decide_wss {
    double window_s; /* the window that was taken; 0: none, and the bounds mean nothing */
    uint64_t low_bytes, high_bytes;
};

/** Statistics of the guest. Values that are not reported are DECIDE_UNKNOWN, or NAN for doubles. */
struct decide_guest {
    bool reported;   /* false: nothing below means anything */
    double age_s;    /* minimum age of the statistics */
    double late_s;   /* the statistics may be older by up to this much */
    double period_s; /* longest interval between two reports; 0: that of the records */
    /* the driver's report is dated so much later than now, and is not used: the host's clock was
     * set back */
    double ahead_s;
    /* B - available when its balloon was last at rest; 0: B has not changed since */
    uint64_t used_bytes;
    double consistency; /* 0 .. 1, of measure/estimate/consistency.h */
    uint64_t available_bytes;
    uint64_t total_bytes; /* MemTotal */
    uint64_t swap_total_bytes, swap_free_bytes;
    uint64_t cold_anon_bytes;  /* anonymous memory on the inactive list */
    double psi_some, psi_full; /* share of the time between the last two reports: 0 .. 1 */
    double refault_bytes_s, swap_in_bytes_s; /* bytes per second */
    double stalls_s;    /* allocations that waited, per second, as its balloon driver counts them */
    bool near_or_above; /* the guest's own verdict */
    bool unhelped;      /* it was given more, and its PSI is no lower: step.h */
    bool oom_kill;      /* between the last two reports */
    /* its balloon driver had not reported when it was first seen, and has not yet, or began to a
     * moment ago: its balloon is on the way to the size that it starts with */
    bool starting;
};

/** Needs of the guest in the last DECIDE_PAST_S, and what the law would have made of them
 * (backtest.h). */
struct decide_past {
    double span_s;             /* seconds of records behind it; 0: nothing is known */
    uint64_t touched_bytes;    /* largest H_mid */
    uint64_t used_bytes;       /* most that its statistics showed as used; 0: not known */
    bool tested;               /* the backtest was run */
    uint64_t scored, exceeded; /* its decisions, and those that were too small */
    uint64_t worst_bytes;      /* largest excess */
};
/** A job on the first Monday of the month may come after 35 days, and by the clock an hour later.
 */
#define DECIDE_PAST_S (36 * 86400.0)

struct decide_input {
    uint64_t assigned_bytes; /* M: above 0 */
    uint64_t actual_bytes;   /* B; DECIDE_UNKNOWN */
    /* the most that it may be given: the rest of M is held back by its owner; 0: M */
    uint64_t limit_bytes;
    uint64_t resident_bytes; /* R */
    uint64_t unmeasurable_bytes;
    uint64_t reserved_bytes; /* m */
    double shares;           /* S; 0: as many as its assigned MiB */
    struct decide_wss short_wss, mid_wss, long_wss;
    uint64_t day_bytes; /* largest H_mid of 24 h; DECIDE_UNKNOWN */
    double day_s;       /* seconds of records behind day_bytes */
    double age_s;       /* age of the newest record */
    double period_s;    /* longest interval between two records */
    double up_s;        /* uptime of the guest; NAN: not known */
    unsigned vetoes;    /* enum decide_veto below VETO_COMPUTED */
    unsigned unsure;    /* UNSURE_FLAGS and UNSURE_WINDOW, of the record */
    struct decide_past past;
    /* its balloon has moved since the statistics were made, or the memory that it took is not
     * proven to have returned to the host */
    bool unsettled;
    /* it waited for memory a moment ago, as its agent reported at once; independent of the
     * statistics */
    bool stalled;
    /* free memory is below the level soft, or growth waits for donors: the guest's own growth does
     * not delay shrinking */
    bool host_short;
    /* free memory is below the level hard, or growth waits: the guest is asked early (step.h) */
    bool host_urgent;
    uint64_t panic_bytes; /* what its last panic showed that it needs; 0: it had none */
    double panic_age_s;
    struct decide_guest guest;
};

/** Returns true if the record is dated later than now: it was made before the host's clock was set
 * back, and shows nothing. */
static inline bool decide_is_ahead(const struct decide_input *input)
{
    return input->age_s < -DECIDE_SKEW_S;
}

struct decide_decision {
    bool measured; /* false: the demand is not known, and the target is B or more */
    uint64_t demand_short_bytes, demand_mid_bytes, demand_long_bytes,
        demand_day_bytes;   /* 0: not known */
    uint64_t demand_bytes;  /* D */
    uint64_t reserve_bytes; /* W */
    enum decide_floor floor_kind;
    uint64_t used_bytes,
        /* B - available, and the part of it that swap can take; 0 with FLOOR_HALF */
        droppable_bytes;
    uint64_t floor_bytes; /* F, at most M */
    struct {
        uint64_t learned_bytes;
        uint64_t past_bytes; /* what it has needed in the past, with W; 0: not known */
    } memory;
    uint64_t wanted_bytes; /* T */
    uint64_t band_bytes;
    unsigned vetoes, panics, unsure;
    bool limited;    /* it would be given more if its owner did not hold that back */
    unsigned claims; /* enum decide_panic: claimed by statistics that do not count */
    enum decide_confidence confidence;
    enum decide_action action;
    enum decide_term term; /* the term that determines the target; TERM_ACTUAL: B is kept */
    uint64_t target_bytes; /* the recommended size: T, or B where nothing may be taken away */
    uint64_t
        give_back_bytes; /* resident bytes that the host would regain at the target: R - target */
    double rho; /* memory moves from guests with the lowest to those with the highest: Waldspurger
                   2002, section 5.1 */
};

/** Returns B, or M where B is not known. */
uint64_t decide_actual(const struct decide_input *input);

/** Returns the most that it may be given: its limit, at most M, and at least B. */
uint64_t decide_most(const struct decide_input *input);

/** Returns true if the guest's statistics are complete, fresh and consistent enough to base a floor
 * on. */
bool decide_has_statistics(const struct decide_policy *policy, const struct decide_input *input);

/* Each term alone; at most M. */
uint64_t decide_reserve(const struct decide_policy *policy, uint64_t assigned_bytes);
/** Returns how much must be available at least for the guest not to panic: half of its reserve. */
uint64_t decide_little(const struct decide_policy *policy, uint64_t assigned_bytes);
uint64_t decide_band(const struct decide_policy *policy, const struct decide_input *input);

/** Returns S: by default as many as its assigned MiB. */
static inline double decide_shares(const struct decide_input *input)
{
    return input->shares > 0 ? input->shares : (double)input->assigned_bytes / (double)DECIDE_MIB;
}

/** rho = S / (P (f + k (1 - f))), P = B in MiB, f = H_mid / B: the upper bound, so that uncertainty
 * is not taxed. */
double decide_rho(const struct decide_policy *policy, const struct decide_input *input);

unsigned decide_vetoes(const struct decide_policy *policy, const struct decide_input *input);
unsigned decide_panics(const struct decide_policy *policy, const struct decide_input *input);
/** Signs that would be panics if the guest's statistics were complete and agreed with the host's
 * numbers; and a stall without fresh statistics. */
unsigned decide_claims(const struct decide_policy *policy, const struct decide_input *input);

/** Makes the whole decision. Never fails: an unknown value makes the target larger, or keeps the
 * current size. */
void decide(const struct decide_policy *policy, const struct decide_input *input,
            struct decide_decision *decision);
