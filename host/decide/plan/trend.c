// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/plan/trend.h"

#include "base/compare.h"

#include <math.h>
#include <stdlib.h>

#define WEEK 7
#define Z_95 1.959964

/* Collects all slopes of one weekday; adds to the variance of Kendall's statistic. */
static size_t add_season(const double *day, size_t n, size_t first, double *slopes,
                         double *variance)
{
    size_t pairs = 0;
    double known = 0;

    for (size_t i = first; i < n; i += WEEK) {
        known += !isnan(day[i]);
        for (size_t j = i + WEEK; j < n && !isnan(day[i]); j += WEEK)
            if (!isnan(day[j]))
                slopes[pairs++] = (day[j] - day[i]) / (double)(j - i);
    }
    *variance += known * (known - 1) * (2 * known + 5) / 18;
    return pairs;
}

struct trend trend_of(const double *day, size_t n)
{
    struct trend trend = {.low = -HUGE_VAL, .high = HUGE_VAL};
    const size_t skip = n > TREND_DAYS_MAX ? n - TREND_DAYS_MAX : 0;
    const size_t days = n - skip;
    double variance = 0;
    double *slopes;

    if (days < TREND_DAYS_MIN)
        return trend;
    slopes = malloc((days / WEEK + 1) * days * sizeof(*slopes));
    if (!slopes)
        return trend;
    for (size_t s = 0; s < WEEK; s++)
        trend.pairs += add_season(day + skip, days, s, slopes + trend.pairs, &variance);
    if (trend.pairs > 0) {
        const double pairs = (double)trend.pairs;
        const double spread = Z_95 * sqrt(variance);
        /* The interval is between ranks M1 and M2 + 1, counted from 1; these are indices. */
        const double low = floor((pairs - spread) / 2) - 1;
        const double high = ceil((pairs + spread) / 2);

        qsort(slopes, trend.pairs, sizeof(*slopes), compare_doubles);
        trend.slope = (slopes[(trend.pairs - 1) / 2] + slopes[trend.pairs / 2]) / 2;
        if (low >= 0 && high < pairs) {
            trend.low = slopes[(size_t)low];
            trend.high = slopes[(size_t)high];
        }
    }
    free(slopes);
    return trend;
}

double trend_days_until(double level, double slope, double limit)
{
    if (level >= limit)
        return 0;
    return slope > 0 ? (limit - level) / slope : HUGE_VAL;
}
