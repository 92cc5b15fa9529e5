// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file wss.c  See wss.h.
 *
 * Theory of operation. A census counts; its only uncertainty is what was unmeasurable.
 *
 * A panel is a simple random sample of pages. Draws that fall into one huge page are one observation, so
 * the sample is stratified afterwards by granularity: stratum h has the share w_h of the measurable
 * draws, u_h distinct units of which t_h were touched, and p_h = t_h / u_h. The fraction is Σ w_h p_h.
 * Its variance has two parts: within the strata Σ w_h² p_h (1 - p_h) / u'_h, where u'_h is u_h corrected
 * for the finite number of units, and between them (Σ w_h p_h² - p²) / n, for the shares are estimated too
 * (Cochran, 5A.9). With base pages only this is exactly p (1 - p) / u'. The interval is Wilson's with the
 * effective sample size that has this variance.
 */
#include "estimate/wss.h"

#include "estimate/wilson.h"

#include <errno.h>
#include <math.h>

/* Coarse pages must hold this share of what was measured to set the granularity of the whole. */
#define GRANULARITY_SHARE 0.05
#define BASE_BYTES 4096

static uint64_t measured_draws(const struct tally *tally)
{
    uint64_t draws = 0;

    for (size_t i = 0; i < tally->n_strata; i++)
        draws += tally->strata[i].draws;
    return draws;
}

static uint64_t granularity(const struct tally *tally)
{
    double draws = (double)measured_draws(tally);
    uint64_t coarsest = BASE_BYTES;

    for (size_t i = 0; i < tally->n_strata; i++) {
        const struct stratum *stratum = &tally->strata[i];

        if (stratum->granularity_bytes > coarsest &&
            (double)stratum->draws >= GRANULARITY_SHARE * draws)
            coarsest = stratum->granularity_bytes;
    }
    return coarsest;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static int estimate_census(const struct tally *tally, uint64_t resident_bytes,
                           struct wss_estimate *out)
{
    uint64_t measured_bytes = tally->resident_bytes - tally->unmeasurable_bytes;

    out->resident_bytes = larger(tally->resident_bytes, resident_bytes);
    out->unmeasurable_bytes = tally->unmeasurable_bytes;
    if (measured_bytes == 0)
        return -ENODATA;
    out->wss_bytes = tally->touched_bytes;
    out->wss_low_bytes = out->wss_bytes;
    out->wss_high_bytes = out->wss_bytes + tally->unmeasurable_bytes;
    out->touched_fraction = (double)tally->touched_bytes / (double)measured_bytes;
    return 0;
}

struct panel_fraction {
    double p;
    double effective_n;
};

static struct panel_fraction panel_fraction(const struct tally *tally, double measured_bytes)
{
    double draws = (double)measured_draws(tally);
    double p = 0;
    double square_sum = 0; /* Σ w p² */
    double within = 0;
    double unit_n = 0; /* Σ w² / u', to fall back on when the variance vanishes */

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

    double between = tally->n_strata > 1 ? fmax(0, square_sum - p * p) / draws : 0;
    double variance = within + between;

    if (variance > 0)
        return (struct panel_fraction){.p = p, .effective_n = p * (1 - p) / variance};
    return (struct panel_fraction){.p = p, .effective_n = unit_n > 0 ? 1 / unit_n : HUGE_VAL};
}

static int estimate_panel(const struct tally *tally, uint64_t resident_bytes,
                          uint64_t population_bytes, struct wss_estimate *out)
{
    uint64_t measured = measured_draws(tally);
    uint64_t present = measured + tally->drawn_unmeasurable;
    /* Each draw is another page, and was there when it was looked at. What is there now may be less: a guest that ends, or
     * one so young that the change of QEMU's own memory is more than its RAM. */
    uint64_t population = larger(population_bytes, present * BASE_BYTES);

    out->resident_bytes = larger(resident_bytes, present * BASE_BYTES);
    if (present > 0)
        out->unmeasurable_bytes = (uint64_t)((double)population *
                                             (double)tally->drawn_unmeasurable / (double)present);
    if (measured == 0)
        return -ENODATA;

    double measured_bytes = (double)(population - out->unmeasurable_bytes);
    struct panel_fraction fraction = panel_fraction(tally, measured_bytes);
    struct interval bounds;

    if (isinf(fraction.effective_n))
        bounds = (struct interval){.low = fraction.p, .high = fraction.p};
    else
        bounds = wilson_interval(fraction.p * fraction.effective_n, fraction.effective_n, Z_95);
    out->touched_fraction = fraction.p;
    out->wss_bytes = (uint64_t)llround(fraction.p * measured_bytes);
    out->wss_low_bytes = (uint64_t)llround(bounds.low * measured_bytes);
    out->wss_high_bytes = (uint64_t)llround(bounds.high * measured_bytes) + out->unmeasurable_bytes;
    return 0;
}

int wss_estimate(const struct tally *tally, uint64_t resident_bytes, uint64_t population_bytes,
                 struct wss_estimate *out)
{
    *out = (struct wss_estimate){.granularity_bytes = granularity(tally)};
    return tally->census ? estimate_census(tally, resident_bytes, out)
                         : estimate_panel(tally, resident_bytes, population_bytes, out);
}
