// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/estimate/precision.h"

#include "base/wilson.h"

#include <math.h>

/* With e the half-width and x = z²/n: e² (1 + x)² = p (1 - p) x + x² / 4, a quadratic in x: (e² -
 * 1/4) x² + (2 e² - p (1 - p)) x + e² = 0. For e < 1/2 it has one positive root, which the function
 * returns. */
static double infinite_samples(double e, double p)
{
    double a = e * e - 0.25;
    double b = 2 * e * e - p * (1 - p);
    double root = sqrt(b * b - 4 * a * e * e);
    double x = (-b - root) / (2 * a);

    return Z_95 * Z_95 / x;
}

uint64_t precision_samples(double half_width, double p, uint64_t population, double design)
{
    double n = half_width >= 0.5 ? 1 : infinite_samples(half_width, p) * fmax(1, design);
    double total = (double)population;

    n = n * total / (total + n - 1);
    return (uint64_t)fmax(1, fmin(ceil(n), total));
}

double precision_worst(double low, double high)
{
    if (low <= 0.5 && high >= 0.5)
        return 0.5;
    return high < 0.5 ? high : low;
}
