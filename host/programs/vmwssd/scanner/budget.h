// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file budget.h  The CPU time for measuring guests, and how it is spent. Pure functions.
 *
 * Two mechanisms keep the budget. The plan fits panels and period into it, from the cost of scans
 * so far: every guest gets as many pages as the host's and its own share pay for, and if not even
 * the smallest panels fit, the period becomes longer for all. The ledger counts the real CPU time
 * of the whole process, and blocks everything if it is too much: this covers events that no plan
 * foresees, such as a hundred guests that start at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The smallest useful panel: ± 9.8 points. Every guest begins with one, to learn its cost. */
#define BUDGET_MIN_SAMPLES 100

/** The cost of scanning a guest, learned by least squares over the last scans: fixed_s + pages ×
 * page_s. Zeroed: unknown. */
struct budget_cost {
    double weight, sum_pages, sum_cpu_s, sum_pages2, sum_product; /* decaying sums */
    double fixed_s, page_s;
};

/** Adds a scan of @p pages pages that took @p cpu_s. */
void budget_learn(struct budget_cost *cost, double pages, double cpu_s);

double budget_cost_s(const struct budget_cost *cost, double pages);

struct budget_limits {
    double share;        /* CPU seconds per second for the whole host */
    double guest_share;  /* and per guest */
    double overhead;     /* part of the share taken by everything except scanning guests ... */
    double polling_s;    /* ... and except this, done once in every period, however long that is */
    double period_s;     /* the wanted period ... */
    double max_period_s; /* ... and the longest useful one */
    double samples;      /* pages of the wanted panel */
};

struct budget_plan {
    double period_s;
    double scan_s; /* allowed cost of one scan of a guest */
};

/** Guests with an unknown cost (weight 0) get the mean cost of the others; nothing if all are
 * unknown. */
void budget_guess(struct budget_cost *costs, size_t n);

/** Makes a plan for guests with these costs. */
struct budget_plan budget_fit(const struct budget_limits *limits, const struct budget_cost *costs,
                              size_t n);

/** Returns the pages for a guest with this cost: BUDGET_MIN_SAMPLES .. limits->samples. */
double budget_samples(const struct budget_plan *plan, const struct budget_limits *limits,
                      const struct budget_cost *cost);

/** Returns the period of a guest with this cost: the plan's, or one in which the guest's own share
 * pays for its smallest panel, if that is longer; at most the longest useful one. */
double budget_period_s(const struct budget_plan *plan, const struct budget_limits *limits,
                       const struct budget_cost *cost);

/**
 * Returns true if little is lost when a panel is drawn anew: in the first tenth of the longest
 * window; and until it was read twice, however short that window is: only then is the cost of a
 * page known, so the first panel is as small as possible.
 * @param reads number of reads of this
 * panel so far
 */
bool budget_panel_young(unsigned reads, double elapsed_s, double longest_s);

/**
 * Returns true if a panel is worth keeping when @p wanted pages are paid for. Its knowledge is lost
 * when another is drawn at once; otherwise it reaches the new size as its cohorts are replaced.
 * @param drawn_for  pages wanted when it was drawn
 * @param pages that it has; fewer if the guest does not have enough pages that can be sampled
 * @param young      budget_panel_young()
 */
bool budget_panel_fits(double wanted, double drawn_for, double pages, bool young);

/** The ledger: a bucket that fills at the rate of the budget. */
struct ledger {
    double share;
    double credit_s; /* CPU seconds that may be spent at once */
    uint64_t at_ns;
    double spent_s; /* CPU time of the process at the last update */
};

/** The time over which the budget holds: a full ledger has the credit of this time. */
#define LEDGER_SPAN_S 300

/** Initial credit, CPU seconds: the cost of starting and of the first two dozen guests. The process
 * never uses more since its start than this, the budget's share of the time, and the work begun
 * last: the ledger is asked once for all guests of a batch (fleet_batch.c). Opening the history is
 * an exception. */
#define LEDGER_BURST_S 0.25

/** @p spent_s: CPU time of the process so far, which does not count. */
struct ledger ledger_open(double share, uint64_t now_ns, double spent_s);

/** Changes the share from now on; the credit stays, up to that of a full ledger. */
void ledger_share(struct ledger *ledger, double share, uint64_t now_ns, double spent_s);

/** Updates the ledger. Returns the number of seconds for which no work may begin; 0 if there is
 * credit. The time is never so short that another call costs more than the credit it earns. */
double ledger_wait_s(struct ledger *ledger, uint64_t now_ns, double spent_s);

/** The thread that waits to open guests, which competes with scans of open guests. */
struct opening_turn {
    uint64_t last_ns;      /* when a guest was opened last */
    uint64_t next_scan_ns; /* deadline of the first scan; UINT64_MAX: none */
};

/** Returns for how many seconds no guest may be opened: because there is no credit, or because
 * there is little and scans have been due since before the last guest was opened, including the
 * first scan of that guest. So neither opening nor scanning keeps the other waiting for ever. */
double ledger_opening_wait_s(struct ledger *ledger, const struct opening_turn *turn,
                             uint64_t now_ns, double spent_s);

/** Share of the budget that is reserved for opening while guests wait for it. */
#define OPENING_SHARE 0.5
