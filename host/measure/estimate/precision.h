// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file precision.h  Computes the number of pages that a panel needs. Pure functions. */
#pragma once

#include <stdint.h>

/**
 * The number of draws for which the 95 % interval is no wider than ± @p half_width (a fraction of
 * the sampled memory). Wilson's half-width at n is z sqrt(p (1 - p) / n + z² / 4n²) / (1 + z² / n),
 * solved here for n and then corrected for the finite population: n N / (N + n - 1) (Cochran,
 * Sampling Techniques, 3rd ed., 4.4).
 * @param half_width  0 .. 0.5, not 0
 * @param p           the expected fraction; 0.5, the worst, if it is not known
 * @param population  number of units
 * @param design      draws per effective observation: 1 for base pages, more if draws share huge
 *                    pages
 * @return at least 1, at most @p population
 */
uint64_t precision_samples(double half_width, double p, uint64_t population, double design);

/** The fraction in the interval that needs the most draws: the one nearest to one half. */
double precision_worst(double low, double high);
