// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/plan/writes.h"

#include "history/bucket.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define HOUR_S 3600
/* The upper bound of a curve that has none. */
#define HIGH_MAX 0x1p62F

static_assert(PLAN_WRITE_WINDOWS <= WRITE_POINTS_MAX, "a curve has room for all windows");

unsigned plan_week_hour(double time_s)
{
    const double hours = floor(time_s / HOUR_S);

    return (unsigned)fmod(hours + 3.0 * 24, PLAN_WEEK_HOURS); /* 1970-01-01 was a Thursday */
}

struct plan_writes *plan_writes_make(void)
{
    struct plan_writes *writes = calloc(1, sizeof(*writes));

    for (size_t h = 0; writes && h < PLAN_WEEK_HOURS; h++)
        for (size_t w = 0; w < PLAN_WRITE_WINDOWS; w++)
            writes->hours[h][w] = (struct plan_written){.low_bytes = HUGE_VALF, .high_bytes = -1};
    return writes;
}

struct plan_written *plan_writes_in(struct plan_writes *writes, double time_s, double window_s)
{
    size_t w = 0;

    while (w < writes->n_windows && !bucket_same_window(writes->window_s[w], window_s))
        w++;
    if (w == PLAN_WRITE_WINDOWS)
        return NULL;
    if (w == writes->n_windows)
        writes->window_s[writes->n_windows++] = window_s;
    return &writes->hours[plan_week_hour(time_s)][w];
}

/* A bound that is not known is the widest. */
static void merge(struct plan_written *into, const struct plan_written *more)
{
    const float low_bytes = isinf(more->low_bytes) ? 0 : more->low_bytes;

    if (more->n == 0)
        return;
    into->est_window_s += more->est_window_s;
    into->bytes += more->bytes;
    into->low_bytes = into->n > 0 ? fminf(into->low_bytes, low_bytes) : low_bytes;
    into->high_bytes = fmaxf(into->high_bytes, more->high_bytes < 0 ? HIGH_MAX : more->high_bytes);
    into->n += more->n;
}

void plan_writes_add(struct plan_writes *writes, double time_s, const struct write_curve *curve)
{
    for (size_t i = 0; i < curve->n; i++) {
        const struct write_point *point = &curve->points[i];
        const struct plan_written written = {(float)point->est_window_s, (float)point->bytes,
                                             (float)point->low_bytes, (float)point->high_bytes, 1};
        struct plan_written *hour = plan_writes_in(writes, time_s, point->window_s);

        if (hour)
            merge(hour, &written);
    }
    if (curve->n > 0 && time_s >= writes->last_s) {
        writes->last_s = time_s;
        writes->sparse_end_bytes = curve->sparse_end_bytes;
        writes->flags = curve->flags;
    }
}

unsigned plan_writes_count(const struct plan_writes *writes, unsigned hour)
{
    unsigned n = 0;

    for (unsigned h = 0; h < PLAN_WEEK_HOURS; h++) {
        unsigned most = 0;

        for (size_t w = 0; w < PLAN_WRITE_WINDOWS; w++)
            most = writes->hours[h][w].n > most ? writes->hours[h][w].n : most;
        n += hour == PLAN_ANY_HOUR || hour == h ? most : 0;
    }
    return n;
}

unsigned plan_writes_hours(const struct plan_writes *writes)
{
    unsigned n = 0;

    for (unsigned h = 0; h < PLAN_WEEK_HOURS; h++)
        n += plan_writes_count(writes, h) > 0;
    return n;
}

/* Inserts a point; the points are in the order of their measured windows. */
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
    struct write_curve curve = {.flags = writes->flags,
                                .sparse_end_bytes = writes->sparse_end_bytes};

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
