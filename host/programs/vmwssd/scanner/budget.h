// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file budget.h  How much CPU time watching may take, and what can be had for it. Pure functions.
 *
 * Two things keep the budget. The plan fits panels and period into it, from what scans of guests
 * have cost so far: every guest gets as many pages as the host's and its own share pay for, and
 * where not even the smallest panels fit, the period becomes longer for all. The ledger counts what
 * the whole process has really used, and has all wait when it is too much: for what no plan
 * foresees, such as a hundred guests that start at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The smallest panel that is worth its while: ± 9.8 points. Every guest begins with one, to see
 * what it costs. */
#define BUDGET_MIN_SAMPLES 100

/** What a scan of a guest costs, learnt by least squares over the last scans: fixed_s + pages ×
 * page_s. Zeroed: unknown. */
struct budget_cost {
    double weight, sum_pages, sum_cpu_s, sum_pages2, sum_product; /* decaying */
    double fixed_s, page_s;
};

/** Takes in a scan of @p pages pages that took @p cpu_s. */
void budget_learn(struct budget_cost *cost, double pages, double cpu_s);

double budget_cost_s(const struct budget_cost *cost, double pages);

struct budget_limits {
    double share;        /* CPU seconds per second for the whole host */
    double guest_share;  /* and for each guest */
    double overhead;     /* what of the share everything else than scanning guests takes ... */
    double polling_s;    /* ... but for this, done once in every period, however long that is */
    double period_s;     /* the period wanted ... */
    double max_period_s; /* ... and the longest that makes sense */
    double samples;      /* the panel wanted */
};

struct budget_plan {
    double period_s;
    double scan_s; /* what one scan of a guest may cost */
};

/** Guests of whom nothing is known yet (weight 0) cost what the others do in the mean; nothing if
 * nobody is known. */
void budget_guess(struct budget_cost *costs, size_t n);

/** A plan for guests of these costs. */
struct budget_plan budget_fit(const struct budget_limits *limits, const struct budget_cost *costs,
                              size_t n);

/** The pages that a guest of this cost gets: BUDGET_MIN_SAMPLES .. limits->samples. */
double budget_samples(const struct budget_plan *plan, const struct budget_limits *limits,
                      const struct budget_cost *cost);

/**
 * Has a panel little to lose by being drawn anew? In the first tenth of the longest window. And
 * until it was read twice, however short that window is: what a page costs is known only then, so
 * the first panel is as small as can be.
 * @param reads  of this panel so far
 */
bool budget_panel_young(unsigned reads, double elapsed_s, double longest_s);

/**
 * Is a panel worth keeping when @p wanted pages are paid for? What it knows is lost when another is
 * drawn at once; else it takes the new size as its cohorts are replaced.
 * @param drawn_for  pages that were wanted when it was drawn
 * @param pages      that it has; fewer when the guest does not have more that can be watched
 * @param young      budget_panel_young()
 */
bool budget_panel_fits(double wanted, double drawn_for, double pages, bool young);

/** The ledger: a bucket that fills at the budget's rate. */
struct ledger {
    double share;
    double credit_s; /* CPU seconds that may be spent at once */
    uint64_t at_ns;
    double spent_s; /* the process's CPU time then */
};

/** The time over which the budget holds: a full ledger has so much of it in credit. */
#define LEDGER_SPAN_S 300

/** CPU seconds in credit at first: what starting takes, and the first two dozen guests. Since the
 * start the process has never used more than these, the budget's share of the time, and what was
 * begun last: the ledger is asked once for all guests of a batch (fleet_batch.c). But for opening
 * the history. */
#define LEDGER_BURST_S 0.25

/** @p spent_s: CPU time of the process that does not count. */
struct ledger ledger_open(double share, uint64_t now_ns, double spent_s);

/** Another share from now on; what is in credit stays, as far as a full ledger can have it. */
void ledger_share(struct ledger *ledger, double share, uint64_t now_ns, double spent_s);

/** Brings it up to date; how many seconds nothing must be begun: 0 when there is credit. Never so
 * short a time that asking again uses up what was earned meanwhile. */
double ledger_wait_s(struct ledger *ledger, uint64_t now_ns, double spent_s);

/** Who waits to open guests, beside those who scan the ones that are open. */
struct opening_turn {
    uint64_t last_ns;      /* when a guest was opened last */
    uint64_t next_scan_ns; /* when the first scan is due; UINT64_MAX: none */
};

/** How many seconds no guest must be opened: for want of credit, or, when there is little, because
 * scans have been due since before the last was opened, the first scan of that one among them. So
 * neither keeps the other waiting for ever. */
double ledger_opening_wait_s(struct ledger *ledger, const struct opening_turn *turn,
                             uint64_t now_ns, double spent_s);

/** What of the budget is kept for opening while guests wait for it. */
#define OPENING_SHARE 0.5
