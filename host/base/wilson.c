// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/wilson.h"

#include <math.h>

struct interval wilson_interval(double successes, double n, double z)
{
    if (n <= 0)
        return (struct interval){.low = 0, .high = 1};

    double p = successes / n;

    if (isinf(n))
        return (struct interval){.low = p, .high = p};

    double z2 = z * z;
    double centre = (p + z2 / (2 * n)) / (1 + z2 / n);
    double half = z * sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n);

    return (struct interval){.low = fmax(0, centre - half), .high = fmin(1, centre + half)};
}

double finite_population_n(double n, double population)
{
    return n >= population ? HUGE_VAL : n * (population - 1) / (population - n);
}
