// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwssd/scanner/budget.h"

#include <math.h>

/* A scan that lies ten scans back counts half. */
#define DECAY 0.933

/* Assumed share until two sizes of panel were seen: most of a scan is its pages. */
#define FIXED_AT_FIRST 0.3

/* Sizes that differ by less than this do not show the cost of a page. */
#define SPREAD 0.05

/* Factors of the wanted size to the panel's size beyond which another panel is drawn at once. */
#define GROW_AT_ONCE 1.5
#define SHRINK_AT_ONCE 0.5

/* A panel of this age, in longest windows, has little to lose; or one that was read at most this
 * often. */
#define YOUNG 0.1
#define YOUNG_READS 2

/* Costs vary, and normally the ledger should not have to act. */
#define HEADROOM 0.9

/* A scan that is due has ended within this time. */
#define SCAN_S 0.1

/* When it is the opener's turn, it may begin with this much less credit than scans, which would
 * otherwise always take the credit first. */
#define AHEAD_S 0.02

/* A thread that waits for credit waits for this much. */
#define EARN_S 0.005

/* Below this credit, which some scans cost, the order of scans and opening matters. */
#define SHORT_S 0.05

/* Share of the budget that is always reserved for guests. */
#define LEAST_FOR_GUESTS 0.1

void budget_learn(struct budget_cost *cost, double pages, double cpu_s)
{
    cost->weight = cost->weight * DECAY + 1;
    cost->sum_pages = cost->sum_pages * DECAY + pages;
    cost->sum_cpu_s = cost->sum_cpu_s * DECAY + cpu_s;
    cost->sum_pages2 = cost->sum_pages2 * DECAY + pages * pages;
    cost->sum_product = cost->sum_product * DECAY + pages * cpu_s;

    double mean_pages = cost->sum_pages / cost->weight;
    double mean_s = cost->sum_cpu_s / cost->weight;
    double variance = cost->sum_pages2 / cost->weight - mean_pages * mean_pages;

    if (variance > SPREAD * SPREAD * mean_pages * mean_pages) {
        double slope = (cost->sum_product / cost->weight - mean_pages * mean_s) / variance;

        if (slope > 0)
            cost->page_s = slope;
    } else if (cost->page_s == 0 && mean_pages > 0) {
        cost->page_s = mean_s * (1 - FIXED_AT_FIRST) / mean_pages;
    }
    cost->page_s = fmin(cost->page_s, mean_pages > 0 ? mean_s / mean_pages : 0);
    cost->fixed_s = mean_s - cost->page_s * mean_pages;
}

double budget_cost_s(const struct budget_cost *cost, double pages)
{
    return cost->fixed_s + cost->page_s * pages;
}

void budget_guess(struct budget_cost *costs, size_t n)
{
    struct budget_cost sum = {0};

    for (size_t i = 0; i < n; i++)
        if (costs[i].weight > 0) {
            sum.weight++;
            sum.fixed_s += costs[i].fixed_s;
            sum.page_s += costs[i].page_s;
        }
    for (size_t i = 0; sum.weight > 0 && i < n; i++)
        if (costs[i].weight == 0) {
            costs[i].fixed_s = sum.fixed_s / sum.weight;
            costs[i].page_s = sum.page_s / sum.weight;
        }
}

/* Returns the cost of a scan if no scan may cost more than @p most_s, except for that of the
 * smallest panel. */
static double scan_cost_s(const struct budget_limits *limits, const struct budget_cost *cost,
                          double most_s)
{
    return fmax(budget_cost_s(cost, BUDGET_MIN_SAMPLES),
                fmin(budget_cost_s(cost, limits->samples), most_s));
}

static double sum_s(const struct budget_limits *limits, const struct budget_cost *costs, size_t n,
                    double most_s)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += scan_cost_s(limits, &costs[i], most_s);
    return sum;
}

struct budget_plan budget_fit(const struct budget_limits *limits, const struct budget_cost *costs,
                              size_t n)
{
    double rate = fmax(limits->share * HEADROOM - limits->overhead,
                       limits->share * LEAST_FOR_GUESTS);
    double least_s = sum_s(limits, costs, n, 0) + limits->polling_s;
    struct budget_plan plan = {
        .period_s = fmin(fmax(limits->period_s, least_s / rate), limits->max_period_s)};
    double low = 0;
    double high = limits->guest_share * plan.period_s;
    double all_s = rate * plan.period_s - limits->polling_s; /* for all scans */

    plan.scan_s = high;
    if (sum_s(limits, costs, n, high) <= all_s)
        return plan;
    for (int i = 0; i < 40; i++) { /* finds the level at which all scans together use up all_s */
        plan.scan_s = (low + high) / 2;
        if (sum_s(limits, costs, n, plan.scan_s) > all_s)
            high = plan.scan_s;
        else
            low = plan.scan_s;
    }
    plan.scan_s = low;
    return plan;
}

double budget_samples(const struct budget_plan *plan, const struct budget_limits *limits,
                      const struct budget_cost *cost)
{
    if (cost->weight == 0)
        return fmin(BUDGET_MIN_SAMPLES, limits->samples);

    double pages = cost->page_s > 0 ? (plan->scan_s - cost->fixed_s) / cost->page_s : HUGE_VAL;

    return fmin(fmax(floor(pages), BUDGET_MIN_SAMPLES), limits->samples);
}

double budget_period_s(const struct budget_plan *plan, const struct budget_limits *limits,
                       const struct budget_cost *cost)
{
    const double least_s = budget_cost_s(cost, fmin(BUDGET_MIN_SAMPLES, limits->samples)) /
                           limits->guest_share;

    return fmax(plan->period_s, fmin(least_s, limits->max_period_s));
}

bool budget_panel_young(unsigned reads, double elapsed_s, double longest_s)
{
    return reads <= YOUNG_READS || elapsed_s < YOUNG * longest_s;
}

bool budget_panel_fits(double wanted, double drawn_for, double pages, bool young)
{
    bool has_all = pages < drawn_for; /* the guest has no more pages, however many are wanted */

    if (wanted < SHRINK_AT_ONCE * fmin(drawn_for, pages))
        return false;
    return has_all || !young || wanted <= GROW_AT_ONCE * drawn_for;
}

static double full_s(double share)
{
    return fmax(share * LEDGER_SPAN_S, LEDGER_BURST_S);
}

struct ledger ledger_open(double share, uint64_t now_ns, double spent_s)
{
    return (struct ledger){
        .share = share, .credit_s = LEDGER_BURST_S, .at_ns = now_ns, .spent_s = spent_s};
}

static void bring_up_to_date(struct ledger *ledger, uint64_t now_ns, double spent_s)
{
    double earned_s = (double)(now_ns - ledger->at_ns) / 1e9 * ledger->share;

    ledger->credit_s += earned_s - (spent_s - ledger->spent_s);
    ledger->credit_s = fmin(ledger->credit_s, full_s(ledger->share));
    ledger->at_ns = now_ns;
    ledger->spent_s = spent_s;
}

void ledger_share(struct ledger *ledger, double share, uint64_t now_ns, double spent_s)
{
    bring_up_to_date(ledger, now_ns, spent_s);
    ledger->share = share;
    ledger->credit_s = fmin(ledger->credit_s, full_s(share));
}

/* Returns the time until there is more than @p least_s in credit. Threads that were woken as soon
 * as that is earned would spend it on waking. */
static double wait_for_s(const struct ledger *ledger, double least_s)
{
    if (ledger->credit_s > least_s)
        return 0;
    return fmax(least_s - ledger->credit_s, EARN_S) / ledger->share;
}

double ledger_wait_s(struct ledger *ledger, uint64_t now_ns, double spent_s)
{
    bring_up_to_date(ledger, now_ns, spent_s);
    return wait_for_s(ledger, 0);
}

double ledger_opening_wait_s(struct ledger *ledger, const struct opening_turn *turn,
                             uint64_t now_ns, double spent_s)
{
    bring_up_to_date(ledger, now_ns, spent_s);
    if (ledger->credit_s < SHORT_S && turn->next_scan_ns <= now_ns &&
        turn->next_scan_ns <= turn->last_ns)
        return fmax(wait_for_s(ledger, 0), SCAN_S);
    return wait_for_s(ledger, -AHEAD_S);
}
