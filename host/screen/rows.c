// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file rows.c  See rows.h. */
#include "screen/rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CURRENT_PERIODS 3
#define CURRENT_S 60

const char *row_key_name(enum row_key key)
{
    static const char *const names[ROW_N_KEYS] = {"name",  "RAM",         "resident", "WSS",
                                                  "share", "reclaimable", "age"};

    return names[key];
}

static bool is_same_guest(const struct sample_record *a, const struct sample_record *b)
{
    return strcmp(a->uuid, b->uuid) == 0 && strcmp(a->host, b->host) == 0;
}

int rows_put(struct rows *rows, const struct kept_sample *kept)
{
    for (size_t i = 0; i < rows->n; i++)
        if (is_same_guest(&rows->at[i].record.sample, &kept->record.sample)) {
            rows->at[i] = *kept;
            return 0;
        }

    struct kept_sample *more = reallocarray(rows->at, rows->n + 1, sizeof(*more));

    if (!more)
        return -ENOMEM;
    rows->at = more;
    rows->at[rows->n++] = *kept;
    return 0;
}

void rows_free(struct rows *rows)
{
    free(rows->at);
    *rows = (struct rows){0};
}

double row_age_s(const struct kept_sample *kept, double now_s)
{
    const struct timespec *time = &kept->record.sample.time;

    return fmax(0, now_s - ((double)time->tv_sec + (double)time->tv_nsec / 1e9));
}

bool row_is_current(const struct kept_sample *kept, double now_s)
{
    return row_age_s(kept, now_s) <= fmax(CURRENT_PERIODS * kept->period_s, CURRENT_S);
}

static const struct window_record *shortest(const struct kept_sample *kept)
{
    return kept->record.sample.n_windows > 0 ? &kept->record.sample.windows[0] : NULL;
}

size_t rows_windows(const struct rows *rows, double window_s[ROWS_MAX_WINDOWS])
{
    const struct sample_record *most = NULL;

    for (size_t i = 0; i < rows->n; i++)
        if (!most || rows->at[i].record.sample.n_windows > most->n_windows)
            most = &rows->at[i].record.sample;
    if (!most || most->n_windows == 0)
        return 0;

    size_t n = most->n_windows < ROWS_MAX_WINDOWS ? most->n_windows : ROWS_MAX_WINDOWS;

    for (size_t i = 0; i < n; i++)
        window_s[i] = most->windows[n == 1 ? 0 : i * (most->n_windows - 1) / (n - 1)].window_s;
    return n;
}

/* --- sorting ---------------------------------------------------------------------------------- */

struct order {
    enum row_key key;
    bool reverse;
    double now_s;
};

static double number_of(const struct kept_sample *kept, const struct order *order)
{
    const struct sample_record *sample = &kept->record.sample;
    const struct window_record *window = shortest(kept);
    double wss = window ? (double)window->wss_bytes : -1;
    uint64_t back;

    switch (order->key) {
    case ROW_BY_RAM:
        return (double)sample->ram_bytes;
    case ROW_BY_RESIDENT:
        return (double)sample->resident_bytes;
    case ROW_BY_WSS:
        return wss;
    case ROW_BY_SHARE:
        return sample->ram_bytes > 0 ? wss / (double)sample->ram_bytes : 0;
    case ROW_BY_BACK:
        return sample_reclaimable(sample, &back) ? (double)back : -1;
    case ROW_BY_AGE:
        return row_age_s(kept, order->now_s);
    default:
        return 0;
    }
}

static int by_name(const struct kept_sample *a, const struct kept_sample *b)
{
    int rc = strcmp(a->record.sample.domain, b->record.sample.domain);

    return rc != 0 ? rc : strcmp(a->record.sample.uuid, b->record.sample.uuid);
}

static int compare(const void *x, const void *y, void *context)
{
    const struct order *order = context;
    const struct kept_sample *a = x;
    const struct kept_sample *b = y;
    int current = row_is_current(b, order->now_s) - row_is_current(a, order->now_s);
    double one = number_of(a, order);
    double other = number_of(b, order);
    int rc = order->key == ROW_BY_NAME ? by_name(a, b) : (other > one) - (other < one);

    if (current != 0)
        return current;
    if (rc != 0)
        return order->reverse ? -rc : rc;
    return by_name(a, b);
}

void rows_sort(struct rows *rows, enum row_key key, bool reverse, double now_s)
{
    struct order order = {key, reverse, now_s};

    if (rows->n > 1)
        qsort_r(rows->at, rows->n, sizeof(*rows->at), compare, &order);
}
