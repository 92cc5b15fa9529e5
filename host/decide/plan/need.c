// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/plan/need.h"

#include "decide/plan/past.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DAY_S 86400

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a;
    float y = *(const float *)b;

    return (x > y) - (x < y);
}

static const float *sorted(const float *values, size_t n, float *draft)
{
    memcpy(draft, values, n * sizeof(*draft));
    qsort(draft, n, sizeof(*draft), compare_floats);
    return draft;
}

static double quantile(const float *ascending, size_t n, double q)
{
    const double rank = ceil(q * (double)n * (1 - 1e-12));

    return ascending[rank < 1 ? 0 : (size_t)fmin(rank, (double)n) - 1];
}

static double mean_and_sigmas(const float *joint, size_t n)
{
    double sum = 0;
    double squares = 0;

    for (size_t t = 0; t < n; t++)
        sum += joint[t];
    for (size_t t = 0; t < n; t++)
        squares += (joint[t] - sum / (double)n) * (joint[t] - sum / (double)n);
    return sum / (double)n + PLAN_SIGMAS_SHORT_HISTORY * sqrt(squares / (double)n);
}

static void count_short(const struct plan_sum *sum, double limit_bytes, struct plan_need *need)
{
    size_t above = 0;
    size_t run = 0;
    size_t longest = 0;

    for (size_t t = 0; t < sum->n; t++) {
        run = sum->joint[t] > (float)limit_bytes ? run + 1 : 0;
        above += run > 0;
        longest = run > longest ? run : longest;
    }
    need->short_share = (double)above / (double)sum->n;
    need->longest_s = (double)longest * sum->step_s;
}

void plan_need_of(const struct plan_sum *sum, double limit_bytes, double risk, float *draft,
                  struct plan_need *need)
{
    const size_t n = sum->n;
    const float *ascending = sorted(sum->joint, n, draft);

    *need = (struct plan_need){
        .p50_bytes = quantile(ascending, n, 0.50),
        .p95_bytes = quantile(ascending, n, 0.95),
        .p99_bytes = quantile(ascending, n, 0.99),
        .max_bytes = quantile(ascending, n, 1),
        .risk_bytes = quantile(ascending, n, 1 - risk),
    };
    if (plan_is_short(sum->days))
        need->risk_bytes = fmax(need->risk_bytes, mean_and_sigmas(sum->joint, n));
    count_short(sum, limit_bytes, need);
}

int plan_runway_of(const struct plan_sum *sum, double limit_bytes, float *draft,
                   struct plan_runway *runway)
{
    const size_t each = (size_t)(DAY_S / sum->step_s);
    const size_t n_whole = sum->n / each;
    const size_t n_days = (size_t)fmin((double)n_whole, round(sum->days));
    const size_t skip = sum->n - n_days * each; /* so that the last day is a whole one */
    double *day = malloc((n_days + 1) * sizeof(*day));
    struct trend trend;

    *runway = (struct plan_runway){0};
    if (!day)
        return -ENOMEM;
    for (size_t d = 0; d < n_days; d++)
        day[d] = quantile(sorted(sum->joint + skip + d * each, each, draft), each, 0.99);
    for (size_t d = n_days > 7 ? n_days - 7 : 0; d < n_days; d++)
        runway->level_bytes = fmax(runway->level_bytes, day[d]);
    trend = trend_of(day, n_days);
    free(day);

    runway->known = trend.pairs > 0;
    runway->slope_bytes_day = trend.slope;
    runway->days = trend_days_until(runway->level_bytes, trend.slope, PLAN_FULL * limit_bytes);
    runway->low_days = trend_days_until(runway->level_bytes, trend.high, PLAN_FULL * limit_bytes);
    runway->high_days = trend_days_until(runway->level_bytes, trend.low, PLAN_FULL * limit_bytes);
    return 0;
}

void plan_joint(const struct plan_fleet *fleet, size_t host, float *joint)
{
    plan_past_read(fleet, host, joint);
    for (size_t g = 0; g < fleet->n_guests; g++) {
        const struct plan_guest *guest = &fleet->guests[g];
        const uint8_t *series = plan_series(fleet, g);
        const float unit = (float)plan_unit(guest);

        for (size_t t = 0; guest->host == host && t < fleet->n_times; t++)
            joint[t] += unit * series[t];
    }
}
