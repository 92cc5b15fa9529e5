// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/estimate/dirty.h"

#include <math.h>

static double bytes_of(const struct write_point *point, enum dirty_bound bound)
{
    switch (bound) {
    case DIRTY_LOW:
        return fmin((double)point->low_bytes, (double)point->bytes);
    case DIRTY_HIGH:
        return fmax((double)point->high_bytes, (double)point->bytes);
    default:
        return (double)point->bytes;
    }
}

/* A page written within a window was written within every longer one: a later point that is less
 * has lost memory meanwhile. */
static double at(const struct write_curve *curve, size_t i, enum dirty_bound bound)
{
    double most = 0;

    for (size_t k = 0; k <= i; k++)
        most = fmax(most, bytes_of(&curve->points[k], bound));
    return most;
}

/* The power of time from point @p i to the next: from 0, the same pages again and again, to 1, new
 * ones all the time. */
static double power(const struct write_curve *curve, size_t i, enum dirty_bound bound)
{
    const double time = curve->points[i + 1].est_window_s / curve->points[i].est_window_s;
    const double less = at(curve, i, bound), more = at(curve, i + 1, bound);

    if (!(time > 1) || !(less > 0))
        return 1;
    return fmin(1, log(more / less) / log(time));
}

static double before(const struct write_curve *curve, enum dirty_bound bound, double share)
{
    const double first = at(curve, 0, bound);

    if (bound == DIRTY_HIGH)
        return first;
    if (bound == DIRTY_LOW || curve->n < 2)
        return first * share;
    return first * pow(share, power(curve, 0, bound));
}

static double beyond(const struct write_curve *curve, enum dirty_bound bound, double times)
{
    const double last = at(curve, curve->n - 1, bound);

    if (bound == DIRTY_LOW)
        return last;
    if (bound == DIRTY_HIGH || curve->n < 2)
        return last * times;
    return last * pow(times, power(curve, curve->n - 2, bound));
}

static double between(const struct write_curve *curve, enum dirty_bound bound, double seconds)
{
    size_t i = 0;

    while (i + 2 < curve->n && seconds > curve->points[i + 1].est_window_s)
        i++;

    const double less = at(curve, i, bound), more = at(curve, i + 1, bound);
    const double time = curve->points[i + 1].est_window_s / curve->points[i].est_window_s;
    const double since = seconds / curve->points[i].est_window_s;

    if (!(less > 0) || !(time > 1))
        return more * fmin(1, seconds / curve->points[i + 1].est_window_s);
    return less * pow(since, log(more / less) / log(time));
}

static double read_at(const struct write_curve *curve, enum dirty_bound bound, double seconds)
{
    const double first_s = curve->points[0].est_window_s;
    const double last_s = curve->points[curve->n - 1].est_window_s;

    if (seconds < first_s)
        return before(curve, bound, seconds / first_s);
    if (seconds > last_s)
        return beyond(curve, bound, seconds / last_s);
    return curve->n > 1 ? between(curve, bound, seconds) : at(curve, 0, bound);
}

double dirty_bytes(const struct write_curve *curve, enum dirty_bound bound, double seconds,
                   double ram_bytes)
{
    if (curve->n == 0 || !(seconds > 0))
        return 0;

    const double middle = read_at(curve, DIRTY_MIDDLE, seconds);
    double bytes = middle;

    if (bound == DIRTY_LOW)
        bytes = fmin(middle, read_at(curve, DIRTY_LOW, seconds));
    else if (bound == DIRTY_HIGH)
        bytes = fmax(middle, read_at(curve, DIRTY_HIGH, seconds));
    return fmin(bytes, ram_bytes);
}
