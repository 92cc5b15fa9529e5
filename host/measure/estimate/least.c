// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file least.c  See least.h.
 *
 * Theory of operation. In a panel, stratum h has the share w_h of the draws, and p_h of its units
 * were touched; each unit has k_h base pages, of which at least one was touched. So at least the
 * fraction q = Σ (w_h / k_h) p_h of the base pages was touched. Its lower bound adds, in
 * quadrature, the distances of the strata to their Wilson bounds and the distance for the shares
 * w_h (Zou and Donner, Statistics in Medicine 27, 2008). It is never below the memory that was seen
 * touched.
 */
#include "measure/estimate/least.h"

#include "base/page_sizes.h"
#include "base/wilson.h"

#include <math.h>

static uint64_t pages_in_unit(const struct stratum *stratum)
{
    return base_pages(stratum->granularity_bytes);
}

bool least_differs(const struct tally *tally)
{
    for (size_t i = 0; i < tally->n_strata; i++)
        if (pages_in_unit(&tally->strata[i]) > 1 && tally->strata[i].draws > 0)
            return true;
    return false;
}

/* --- census: draws and touched units are in base pages ---------------------------------------- */

static uint64_t fewest_units(uint64_t pages, const struct stratum *stratum)
{
    uint64_t k = pages_in_unit(stratum);

    return (pages + k - 1) / k;
}

/* The coarsest stratum finer than @p below; NULL if there is none. */
static const struct stratum *next_coarsest(const struct tally *tally, uint64_t below)
{
    const struct stratum *best = NULL;

    for (size_t i = 0; i < tally->n_strata; i++) {
        const struct stratum *stratum = &tally->strata[i];

        if (stratum->granularity_bytes < below &&
            (!best || stratum->granularity_bytes > best->granularity_bytes))
            best = stratum;
    }
    return best;
}

uint64_t least_of_census(const struct tally *tally)
{
    uint64_t unknown = base_pages(tally->touched_bytes);
    uint64_t pages = 0;

    for (size_t i = 0; i < tally->n_strata; i++) {
        uint64_t known = tally->strata[i].touched_units;

        unknown -= known < unknown ? known : unknown;
    }
    for (const struct stratum *stratum = next_coarsest(tally, UINT64_MAX); stratum;
         stratum = next_coarsest(tally, stratum->granularity_bytes)) {
        uint64_t room = stratum->draws > stratum->touched_units
                            ? stratum->draws - stratum->touched_units
                            : 0;
        uint64_t here = unknown < room ? unknown : room;

        pages += fewest_units(stratum->touched_units + here, stratum);
        unknown -= here;
    }
    return (pages + unknown) * base_page_bytes();
}

/* --- panel ------------------------------------------------------------------------------------ */

struct sums {
    double draws;
    double q;          /* Σ (w/k) p */
    double square_sum; /* Σ w (p/k)² */
    double distance2;  /* Σ ((w/k) (p - low))² */
    double seen;       /* touched units */
};

static void add_stratum(struct sums *sums, const struct stratum *stratum, double measured_bytes)
{
    double k = (double)pages_in_unit(stratum);
    double weight = (double)stratum->draws / sums->draws;
    double units = (double)stratum->units;
    double p = (double)stratum->touched_units / units;
    double population = fmax(units, weight * measured_bytes / (double)stratum->granularity_bytes);
    double n = finite_population_n(units, population);
    double low = wilson_interval(p * n, n, Z_95).low;

    sums->q += weight / k * p;
    sums->square_sum += weight * (p / k) * (p / k);
    sums->distance2 += pow(weight / k * (p - (isinf(n) ? p : low)), 2);
    sums->seen += (double)stratum->touched_units;
}

uint64_t least_of_panel(const struct tally *tally, double measured_bytes)
{
    struct sums sums = {0};

    for (size_t i = 0; i < tally->n_strata; i++)
        sums.draws += (double)tally->strata[i].draws;
    for (size_t i = 0; i < tally->n_strata; i++)
        if (tally->strata[i].units > 0)
            add_stratum(&sums, &tally->strata[i], measured_bytes);

    double shares = sums.draws > 0 ? fmax(0, sums.square_sum - sums.q * sums.q) / sums.draws : 0;
    double low = sums.q - sqrt(sums.distance2 + (tally->n_strata > 1 ? Z_95 * Z_95 * shares : 0));

    return (uint64_t)llround(fmax(low * measured_bytes, sums.seen * (double)base_page_bytes()));
}
