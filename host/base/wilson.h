// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file wilson.h  Interval for a proportion.
 *
 * Wilson's score interval (E. B. Wilson, JASA 22, 1927) keeps its coverage for small counts and
 * extreme proportions. The usual p ± z·se does not: at n = 100, p = .01 it covers 63 % instead of
 * 95 (Brown, Cai, DasGupta, Statistical Science 16, 2001).
 */
#pragma once

struct interval {
    double low, high; /* 0 <= low <= high <= 1 */
};

/** The 97.5 % quantile of the normal distribution, for a 95 % interval. */
#define Z_95 1.959963984540054

/**
 * @param successes   observed, 0 .. n; need not be whole (an effective count)
 * @param n           observations; need not be whole. n <= 0 gives [0, 1]
 * @param z           e.g. Z_95
 */
struct interval wilson_interval(double successes, double n, double z);

/**
 * The effective sample size of @p n draws without replacement from @p population: the number of
 * draws from an infinite population with the same precision, n (N - 1) / (N - n) (Cochran, Sampling
 * Techniques, 3rd ed., 2.6). Infinite (HUGE_VAL) if everything was drawn.
 */
double finite_population_n(double n, double population);
