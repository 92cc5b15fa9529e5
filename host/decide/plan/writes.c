// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/plan/writes.h"

#include "history/bucket.h"

#include <assert.h>
#include <math.h>

#define HOUR_S 3600

static_assert(PLAN_WRITE_WINDOWS <= WRITE_POINTS_MAX, "a curve has room for all windows");

unsigned plan_week_hour(double time_s)
{
    const double hours = floor(time_s / HOUR_S);

    return (unsigned)fmod(hours + 3.0 * 24, PLAN_WEEK_HOURS); /* 1970-01-01 was a Thursday */
}

/* Returns the index of the window, which is added if there is room; else PLAN_WRITE_WINDOWS. */
static size_t window_index(struct plan_writes *writes, double window_s)
{
    size_t w = 0;

    while (w < writes->n_windows && !bucket_same_window(writes->window_s[w], window_s))
        w++;
    if (w == writes->n_windows && w < PLAN_WRITE_WINDOWS)
        writes->window_s[writes->n_windows++] = window_s;
    return w;
}

static void merge(struct plan_written *into, const struct plan_written *more)
{
    if (more->n == 0)
        return;
    into->est_window_s += more->est_window_s;
    into->bytes += more->bytes;
    into->low_bytes = into->n > 0 ? fminf(into->low_bytes, more->low_bytes) : more->low_bytes;
    into->high_bytes = fmaxf(into->high_bytes, more->high_bytes);
    into->n += more->n;
}

void plan_writes_add(struct plan_writes *writes, double time_s, const struct write_curve *curve)
{
    struct plan_written *hour = writes->hours[plan_week_hour(time_s)];

    if (curve->n == 0)
        return;
    for (size_t i = 0; i < curve->n; i++) {
        const struct write_point *point = &curve->points[i];
        const struct plan_written written = {(float)point->est_window_s, (float)point->bytes,
                                             (float)point->low_bytes, (float)point->high_bytes, 1};
        const size_t w = window_index(writes, point->window_s);

        if (w < PLAN_WRITE_WINDOWS)
            merge(&hour[w], &written);
    }
    writes->n_curves[plan_week_hour(time_s)]++;
    if (time_s >= writes->last_s) {
        writes->last_s = time_s;
        writes->sparse_end_bytes = curve->sparse_end_bytes;
    }
}

unsigned plan_writes_count(const struct plan_writes *writes, unsigned hour)
{
    unsigned n = 0;

    for (unsigned h = 0; h < PLAN_WEEK_HOURS; h++)
        if (hour == PLAN_ANY_HOUR || hour == h)
            n += writes->n_curves[h];
    return n;
}

/* Inserts a point, whose place is that of its measured window. */
static void insert(struct write_curve *curve, const struct write_point *point)
{
    size_t at = curve->n++;

    for (; at > 0 && curve->points[at - 1].est_window_s > point->est_window_s; at--)
        curve->points[at] = curve->points[at - 1];
    curve->points[at] = *point;
}

struct write_curve plan_writes_at(const struct plan_writes *writes, unsigned hour)
{
    const unsigned first = hour == PLAN_ANY_HOUR ? 0 : hour;
    const unsigned last = hour == PLAN_ANY_HOUR ? PLAN_WEEK_HOURS - 1 : hour;
    struct write_curve curve = {.sparse_end_bytes = writes->sparse_end_bytes};

    for (size_t w = 0; w < writes->n_windows; w++) {
        struct plan_written all = {.n = 0};

        for (unsigned h = first; h <= last; h++)
            merge(&all, &writes->hours[h][w]);
        if (all.n > 0)
            insert(&curve, &(struct write_point){.window_s = writes->window_s[w],
                                                 .est_window_s = all.est_window_s / (float)all.n,
                                                 .bytes = (uint64_t)(all.bytes / (float)all.n),
                                                 .low_bytes = (uint64_t)all.low_bytes,
                                                 .high_bytes = (uint64_t)all.high_bytes});
    }
    return curve;
}
