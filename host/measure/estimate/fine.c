// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file fine.c  See fine.h.
 *
 * Theory of operation. The measured huge pages are clusters, each measured completely, so the
 * density is the mean of one number per cluster, and its variance is that between clusters
 * (Cochran, Sampling Techniques, 3rd ed., 9.2), with Student's t for the few degrees of freedom.
 * Only the part of the population that was not measured is uncertain.
 *
 * Three effects make the textbook interval too short, and are corrected.
 *   - The sample may lack a kind of cluster: if one touched huge page in fifteen is full and all
 *     others have a single page touched, then one in nine samples of 32 contains no full one, and
 *     shows no variance. So the upper bound is computed as if one more cluster had been measured
 *     and found full, and the lower bound as if one more had been found empty. With n equal
 *     clusters this allows for an unseen share of about 3 / n, which is the share that n
 *     observations can exclude.
 *   - The sample was touched in the first window and is measured in a second. A cluster that was
 *     not touched in the second says nothing about the density; other clusters, which were not
 *     drawn, were touched instead. In a steady guest both are equally many. So untouched clusters
 *     are excluded from the value, and count as empty for the lower bound and as full for the upper
 *     bound.
 *   - Some drawn clusters could not be measured, and these are not random: for example the first
 *     huge page of a guest, which holds its firmware and little else. The measured clusters do not
 *     represent them; they count like untouched ones.
 *
 * The parts are independent, so the distances to their bounds are added in quadrature (Zou and
 * Donner, Statistics in Medicine 27, 2008).
 */
#include "measure/estimate/fine.h"

#include "base/page_sizes.h"
#include "base/wilson.h"

#include <math.h>

/* Cornish-Fisher expansion about the normal quantile (Abramowitz and Stegun, 26.7.5); it is too
 * inexact for 1 and 2 degrees of freedom. */
double student_975(double df)
{
    const double z = Z_95;

    if (df < 2)
        return 12.706204736;
    if (df < 3)
        return 4.302652730;
    return z + (pow(z, 3) + z) / (4 * df) +
           (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * pow(df, 2)) +
           (3 * pow(z, 7) + 19 * pow(z, 5) + 17 * pow(z, 3) - 15 * z) / (384 * pow(df, 3)) +
           (79 * pow(z, 9) + 776 * pow(z, 7) + 1482 * pow(z, 5) - 1920 * pow(z, 3) - 945 * z) /
               (92160 * pow(df, 4));
}

/* Moments of the drawn fractions. Untouched and unmeasured clusters count as @p unknown, and one
 * more cluster of that kind is added. */
struct moments {
    double drawn_mean; /* without the added cluster */
    double mean, variance;
};

static double drawn(const struct fine_tally *fine)
{
    return (double)(fine->n + fine->n_lost);
}

static struct moments moments(const struct fine_tally *fine, double unknown)
{
    double n = drawn(fine);
    double sum = (double)fine->n_lost * unknown;
    double squares = (double)(fine->n_lost + 1) * unknown * unknown;

    for (size_t i = 0; i < fine->n; i++) {
        double y = fine->touched[i] > 0 ? fine->touched[i] : unknown;

        sum += y;
        squares += y * y;
    }

    double mean = (sum + unknown) / (n + 1);

    return (struct moments){.drawn_mean = sum / n,
                            .mean = mean,
                            .variance = fmax(0, squares - (n + 1) * mean * mean) / n};
}

/* The bound on the side of @p extreme, 0 or 1. */
static double bound(const struct fine_tally *fine, double population, double extreme)
{
    double n = drawn(fine);
    struct moments m = moments(fine, extreme);

    if (n >= population)
        return m.drawn_mean;

    double error = student_975(n) * sqrt(m.variance * (1 / (n + 1) + 1 / (population - n)));
    double rest = extreme > 0 ? fmin(1, m.mean + error) : fmax(0, m.mean - error);

    return (n * m.drawn_mean + (population - n) * rest) / population;
}

static double value(const struct fine_tally *fine)
{
    double sum = 0;
    double n = 0;

    for (size_t i = 0; i < fine->n; i++) {
        sum += fine->touched[i];
        n += fine->touched[i] > 0;
    }
    return n > 0 ? sum / n : 1;
}

struct density fine_density(const struct fine_tally *fine, double population)
{
    struct density density = {.low = 0, .value = value(fine), .high = 1};

    if (fine->n > 0) {
        density.low = bound(fine, population, 0);
        density.high = bound(fine, population, 1);
    }
    /* a touched huge page has at least one touched base page */
    density.low = fmax(density.low, 1.0 / (double)huge_page_pages());
    density.high = fmax(density.high, density.value);
    density.low = fmin(density.low, density.value);
    return density;
}

/* --- the working set -------------------------------------------------------------------------- */

/* The tally of only the touches inside huge pages, or only those outside of them. */
static struct tally only(const struct tally *tally, bool huge)
{
    struct tally part = *tally;

    part.touched_bytes = 0;
    part.hidden_units = 0; /* added only once, to the sum: sample_record_add_fine() */
    for (size_t i = 0; i < part.n_strata; i++) {
        struct stratum *stratum = &part.strata[i];

        if ((stratum->granularity_bytes == huge_page_bytes()) != huge)
            stratum->touched_units = 0;
        if (part.census)
            part.touched_bytes += stratum->touched_units * base_page_bytes();
    }
    return part;
}

/* Estimates the touched memory of that part; it is certainly 0 if no page of it was measured. */
static int estimate_part(const struct tally *tally, bool huge, const struct wss_memory *memory,
                         struct wss_estimate *out)
{
    const struct tally part = only(tally, huge);
    int rc = wss_estimate(&part, memory, out);

    for (size_t i = 0; i < part.n_strata; i++)
        if ((part.strata[i].granularity_bytes == huge_page_bytes()) == huge &&
            part.strata[i].draws > 0)
            return rc;
    out->wss_bytes = 0;
    out->wss_low_bytes = 0;
    out->unit_low_bytes = 0;
    out->wss_high_bytes = out->unmeasurable_bytes;
    return rc;
}

static uint64_t coarsest_left(const struct tally *tally)
{
    struct tally part = *tally;
    struct wss_estimate estimate;

    for (size_t i = 0; i < part.n_strata; i++)
        if (part.strata[i].granularity_bytes == huge_page_bytes())
            part.strata[i].granularity_bytes = base_page_bytes();
    wss_estimate(&part, &(struct wss_memory){0}, &estimate);
    return estimate.granularity_bytes;
}

static double squared(double x)
{
    return x * x;
}

int fine_estimate(const struct tally *tally, const struct fine_tally *fine,
                  const struct wss_memory *memory, struct fine_estimate *out)
{
    struct wss_estimate base;
    struct wss_estimate huge;
    int rc = estimate_part(tally, false, memory, &base);

    *out = (struct fine_estimate){0};
    if (rc < 0)
        return rc;
    estimate_part(tally, true, memory, &huge);

    double touched = (double)huge.wss_bytes;
    struct density d = fine_density(fine, touched / (double)huge_page_bytes());
    double sum = (double)base.wss_bytes + touched * d.value;
    double unmeasurable = (double)base.unmeasurable_bytes;
    double down = squared((double)(base.wss_bytes - base.wss_low_bytes)) +
                  squared((touched - (double)huge.unit_low_bytes) * d.value) +
                  squared(touched * (d.value - d.low));
    double up = squared((double)(base.wss_high_bytes - base.wss_bytes) - unmeasurable) +
                squared(((double)(huge.wss_high_bytes) - touched - unmeasurable) * d.value) +
                squared(touched * (d.high - d.value));

    out->wss_bytes = (uint64_t)llround(sum);
    out->wss_low_bytes = (uint64_t)llround(fmax(0, sum - sqrt(down)));
    out->wss_high_bytes = (uint64_t)llround(sum + sqrt(up) + unmeasurable);
    out->granularity_bytes = coarsest_left(tally);
    return 0;
}
