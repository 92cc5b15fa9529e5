// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file wss.c  See wss.h.
 *
 * Theory of operation. A census counts; its only uncertainty is the unmeasurable memory.
 *
 * A panel is a simple random sample of pages. Draws that fall into one huge page are one
 * observation, so the sample is post-stratified by granularity: stratum h has the share w_h of the
 * measurable draws, u_h distinct units of which t_h were touched, and p_h = t_h / u_h. The fraction
 * is Σ w_h p_h. Its variance has two parts: within the strata Σ w_h² p_h (1 - p_h) / u'_h, where
 * u'_h is u_h corrected for the finite number of units, and between them (Σ w_h p_h² - p²) / n,
 * because the shares are estimated too (Cochran, 5A.9). With base pages only this is exactly p (1 -
 * p) / u'. The interval is Wilson's with the effective sample size that gives this variance. It
 * counts units in full; least.c computes the bytes that were touched for certain.
 *
 * The unmeasurable draws are a share u of the present draws, with a sampling error of its own. The
 * bounds are those of p (1 - u), the touched share if nothing unmeasurable was touched, and of (1 -
 * p) (1 - u), the idle share if all of it was touched; the variance of such a product is (1 - u)²
 * var p + p² var u (the delta method; p and u are uncorrelated).
 */
#include "measure/estimate/wss.h"

#include "base/bytes.h"
#include "base/page_sizes.h"
#include "base/wilson.h"
#include "measure/dispute.h"
#include "measure/estimate/least.h"

#include <errno.h>
#include <math.h>

/* A size of pages sets the granularity of the whole if its share of the measured memory is at least
 * this. */
#define GRANULARITY_SHARE 0.05

static uint64_t granularity(const struct tally *tally)
{
    double draws = (double)tally_draws(tally);
    uint64_t coarsest = base_page_bytes();

    for (size_t i = 0; i < tally->n_strata; i++) {
        const struct stratum *stratum = &tally->strata[i];

        if (stratum->granularity_bytes > coarsest &&
            (double)stratum->draws >= GRANULARITY_SHARE * draws)
            coarsest = stratum->granularity_bytes;
    }
    return coarsest;
}

static int estimate_census(const struct tally *tally, const struct wss_memory *memory,
                           struct wss_estimate *out)
{
    uint64_t measured_bytes = tally->resident_bytes - tally->unmeasurable_bytes;

    out->resident_bytes = larger(tally->resident_bytes, memory->resident_bytes);
    out->gone_bytes = tally->gone_bytes;
    out->unmeasurable_bytes = tally->unmeasurable_bytes;
    if (measured_bytes == 0)
        return -ENODATA;
    out->wss_bytes = tally->touched_bytes;
    out->unit_low_bytes = out->wss_bytes - smaller(out->wss_bytes, tally->surplus_bytes);
    out->wss_low_bytes = least_differs(tally) ? smaller(out->unit_low_bytes, least_of_census(tally))
                                              : out->unit_low_bytes;
    out->wss_high_bytes = smaller(out->wss_bytes + tally->missed_bytes + tally->unmeasurable_bytes,
                                  larger(out->resident_bytes, out->wss_bytes));
    out->touched_fraction = (double)tally->touched_bytes / (double)measured_bytes;
    return 0;
}

struct panel_fraction {
    double p;
    double effective_n;
};

static struct panel_fraction panel_fraction(const struct tally *tally, double measured_bytes)
{
    double draws = (double)tally_draws(tally);
    double p = 0;
    double square_sum = 0; /* Σ w p² */
    double within = 0;
    double unit_n = 0; /* Σ w² / u', used when the variance vanishes */

    for (size_t i = 0; i < tally->n_strata; i++) {
        const struct stratum *stratum = &tally->strata[i];

        if (stratum->units == 0)
            continue;

        double weight = (double)stratum->draws / draws;
        double units = (double)stratum->units;
        double fraction = (double)stratum->touched_units / units;
        double population = fmax(units,
                                 weight * measured_bytes / (double)stratum->granularity_bytes);
        double effective = finite_population_n(units, population);

        p += weight * fraction;
        square_sum += weight * fraction * fraction;
        within += weight * weight * fraction * (1 - fraction) / effective;
        unit_n += weight * weight / effective;
    }

    /* Rounded shares may add up to 1.0000000000000002; p must not exceed 1, nor p² exceed p. */
    p = fmin(p, 1);
    square_sum = fmin(square_sum, p);

    double between = tally->n_strata > 1 ? fmax(0, square_sum - p * p) / draws : 0;
    double variance = within + between;

    if (variance > 0)
        return (struct panel_fraction){.p = p, .effective_n = p * (1 - p) / variance};
    return (struct panel_fraction){.p = p, .effective_n = unit_n > 0 ? 1 / unit_n : HUGE_VAL};
}

/* The interval of a share whose estimate has @p variance. If the variance vanishes, as at 0 and 1,
 * @p spare_n is the sample size. */
static struct interval share_interval(double share, double variance, double spare_n, double z)
{
    double n = variance > 0 ? share * (1 - share) / variance : spare_n;

    return isinf(n) ? (struct interval){.low = share, .high = share}
                    : wilson_interval(share * n, n, z);
}

/* The number of observations in the present draws, measured or not; several draws in one huge page
 * are one observation. */
static double present_n(const struct tally *tally, double population)
{
    double draws = (double)tally_draws(tally);
    double present = draws + (double)tally->drawn_unmeasurable;
    double units = 0;

    for (size_t i = 0; i < tally->n_strata; i++)
        units += (double)tally->strata[i].units;
    return finite_population_n(present, fmax(present, population / (double)base_page_bytes())) *
           units / draws;
}

/* Bounds of the population: low if nothing unmeasurable (the share u) was touched, high if all of
 * it was. */
static struct interval panel_bounds(const struct tally *tally, struct panel_fraction fraction,
                                    double u, double population)
{
    double p = fraction.p;

    if (u == 0)
        return share_interval(p, 0, fraction.effective_n, Z_95);

    double n = present_n(tally, population);
    double error_p = isinf(fraction.effective_n) ? 0 : p * (1 - p) / fraction.effective_n;
    double error_u = isinf(n) ? 0 : u * (1 - u) / n;
    double least_touched = p * (1 - u);
    double least_idle = (1 - p) * (1 - u);
    double within = (1 - u) * (1 - u) * error_p;
    struct interval touched = share_interval(least_touched, within + p * p * error_u, n, Z_95);
    struct interval idle = share_interval(least_idle, within + (1 - p) * (1 - p) * error_u, n,
                                          Z_95);

    return (struct interval){.low = touched.low, .high = 1 - idle.low};
}

/* The size of the population: a value and its bounds. */
struct population {
    uint64_t bytes;
    uint64_t low, high;
    bool unsettled;
};

/* Four standard deviations: two correct numbers differ by more in one panel of 15,000. */
#define Z_CHANCE 4.0

static uint64_t share_of(double share, uint64_t bytes)
{
    return (uint64_t)llround(share * (double)bytes);
}

/* The counters' value and its error. */
static struct population counted_population(uint64_t bytes, const struct wss_memory *memory)
{
    uint64_t high = bytes + memory->population_error_bytes;

    return (struct population){
        .bytes = bytes,
        .low = less(bytes, memory->population_error_bytes),
        /* limited to the possible maximum */
        .high = memory->ram_bytes ? smaller(high, larger(bytes, memory->ram_bytes)) : high,
    };
}

/* Compares the counters' value with the share of draws that were present. */
static struct population check_population(struct population counted, uint64_t ram_bytes,
                                          double present, double draws)
{
    double n = finite_population_n(draws, fmax(draws, (double)base_pages(ram_bytes)));
    double share = present / draws;
    struct interval chance = share_interval(share, 0, n, Z_CHANCE);
    struct interval likely = share_interval(share, 0, n, Z_95);

    if (counted.high >= share_of(chance.low, ram_bytes) &&
        counted.low <= share_of(chance.high, ram_bytes))
        return counted;
    return (struct population){
        .bytes = share_of(share, ram_bytes),
        .low = smaller(counted.low, share_of(likely.low, ram_bytes)),
        .high = larger(counted.high, share_of(likely.high, ram_bytes)),
        .unsettled = true,
    };
}

static struct population panel_population(const struct tally *tally,
                                          const struct wss_memory *memory)
{
    uint64_t present = tally_draws(tally) + tally->drawn_unmeasurable;
    /* each draw is another page that was present when it was read, so this is a minimum. The
     * present memory may be less now: the guest is ending, or is so young that the change of QEMU's
     * own memory exceeds its RAM */
    uint64_t bytes = larger(memory->population_bytes, present * base_page_bytes());
    uint64_t draws = present + tally->drawn_absent;
    struct population counted = counted_population(bytes, memory);

    return memory->ram_bytes == 0 || draws == 0
               ? counted
               : check_population(counted, memory->ram_bytes, (double)present, (double)draws);
}

static int estimate_panel(const struct tally *tally, const struct wss_memory *memory,
                          struct wss_estimate *out)
{
    uint64_t measured = tally_draws(tally);
    uint64_t present = measured + tally->drawn_unmeasurable;
    struct population population = panel_population(tally, memory);
    double u = present > 0 ? (double)tally->drawn_unmeasurable / (double)present : 0;

    out->resident_bytes = larger(memory->resident_bytes, present * base_page_bytes());
    out->unmeasurable_bytes = (uint64_t)((double)population.bytes * u);
    if (tally->drawn_gone > 0)
        out->gone_bytes = share_of(
            (double)tally->drawn_gone / (double)(present + tally->drawn_absent), memory->ram_bytes);
    out->unsettled = population.unsettled;
    if (measured == 0)
        return -ENODATA;

    double measured_bytes = (double)(population.bytes - out->unmeasurable_bytes);
    struct panel_fraction fraction = panel_fraction(tally, measured_bytes);
    struct interval bounds = panel_bounds(tally, fraction, u, (double)population.bytes);

    out->touched_fraction = fraction.p;
    out->wss_bytes = (uint64_t)llround(fraction.p * measured_bytes);
    out->unit_low_bytes = share_of(bounds.low, population.low);
    out->wss_low_bytes = least_differs(tally)
                             ? smaller(out->unit_low_bytes,
                                       least_of_panel(tally, (double)population.low * (1 - u)))
                             : out->unit_low_bytes;
    out->wss_high_bytes = share_of(bounds.high, population.high);
    return 0;
}

/* Returns the largest unit that was read: a bound must use the largest. */
static uint64_t largest_unit(const struct tally *tally)
{
    uint64_t bytes = base_page_bytes();

    for (size_t i = 0; i < tally->n_strata; i++)
        if (tally->strata[i].draws > 0)
            bytes = larger(bytes, tally->strata[i].granularity_bytes);
    return bytes;
}

static uint64_t bytes_of(uint64_t units, uint64_t unit_bytes, uint64_t most)
{
    return units <= most / unit_bytes ? units * unit_bytes : most;
}

static uint64_t measurable_bytes(const struct wss_estimate *estimate)
{
    return estimate->resident_bytes -
           smaller(estimate->resident_bytes, estimate->unmeasurable_bytes);
}

static void lower(uint64_t *bytes, uint64_t by, uint64_t least)
{
    *bytes = larger(less(*bytes, by), smaller(*bytes, least));
}

static void raise(struct wss_estimate *out, uint64_t by)
{
    const uint64_t most = larger(out->wss_high_bytes, out->resident_bytes);

    out->wss_high_bytes = smaller(out->wss_high_bytes + smaller(by, out->resident_bytes), most);
}

/* Widens the bounds by the differences that a witness has seen, in either direction. A page touched
 * by others seems younger than it is; a page whose touch was missed seems older. */
static void widen_for_witness(const struct tally *tally, struct wss_estimate *out)
{
    const struct dispute *within = &tally->within;
    const struct dispute *younger = &tally->younger;
    const uint64_t all = measurable_bytes(out);
    const double surplus = dispute_surplus(within) + dispute_missing(younger);
    const double missing = dispute_missing(within) + dispute_surplus(younger);
    const uint64_t least = dispute_least_bytes(within, all);

    const uint64_t unwatched = within->disputed ? dispute_unwatched_bytes(within, all) : 0;
    const uint64_t by_others = share_of(fmin(1, surplus), all - unwatched) + unwatched;

    lower(&out->wss_low_bytes, by_others, least);
    lower(&out->unit_low_bytes, by_others, least);
    raise(out, share_of(fmin(1, missing), all));
    out->disputed = within->disputed || younger->disputed;
}

/* Returns true if accessed bits were taken, but a witness knows how many touches that hid. */
static bool is_witnessed_ageing(const struct tally *tally)
{
    return tally->doubts == DOUBT_AGEING && tally->within.n > 0;
}

/* Widens the bounds by the tally's doubts: units that read idle but may have been touched (up to
 * all resident memory), memory that others took away after it may have been touched, and touches
 * that may have happened after the window. */
static void widen(const struct tally *tally, struct wss_estimate *out)
{
    uint64_t unit = largest_unit(tally);
    uint64_t room = out->resident_bytes > out->wss_high_bytes
                        ? out->resident_bytes - out->wss_high_bytes
                        : 0;

    if (is_witnessed_ageing(tally))
        raise(out, share_of(dispute_missed_high(&tally->within), measurable_bytes(out)));
    else
        out->wss_high_bytes += bytes_of(tally->hidden_units, unit, room) + tally->left_bytes;
    out->wss_low_bytes -= bytes_of(tally->younger_units, unit, out->wss_low_bytes);
    out->unit_low_bytes -= bytes_of(tally->younger_units, unit, out->unit_low_bytes);
}

int wss_estimate(const struct tally *tally, const struct wss_memory *memory,
                 struct wss_estimate *out)
{
    *out = (struct wss_estimate){.granularity_bytes = granularity(tally)};

    int rc = tally->census ? estimate_census(tally, memory, out)
                           : estimate_panel(tally, memory, out);

    if (rc == 0) {
        widen(tally, out);
        widen_for_witness(tally, out);
    }
    return rc;
}
