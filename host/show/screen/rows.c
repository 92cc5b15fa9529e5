// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/screen/rows.h"

#include "base/array.h"
#include "history/kept_age.h"
#include "show/sample_table.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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
    return array_put(&rows->at, &rows->n, kept, sizeof(*kept));
}

static bool is_named(const struct rows_filter *filter, const struct sample_record *sample)
{
    for (int i = 0; i < filter->n_patterns; i++)
        if (fnmatch(filter->patterns[i], sample->domain, 0) == 0 ||
            strcasecmp(filter->patterns[i], sample->uuid) == 0)
            return true;
    return filter->n_patterns == 0;
}

static bool is_above(const struct rows_filter *filter, const struct sample_record *sample)
{
    return filter->above <= 0 ||
           (sample->n_windows > 0 &&
            (double)sample->windows[0].wss_bytes > filter->above * (double)sample->ram_bytes);
}

bool rows_wants(const struct rows_filter *filter, const struct kept_sample *kept)
{
    return is_named(filter, &kept->record.sample) && is_above(filter, &kept->record.sample);
}

int rows_put_wanted(struct rows *rows, const struct rows_filter *filter,
                    const struct kept_sample *kept)
{
    const struct sample_record *sample = &kept->record.sample;

    if (rows_wants(filter, kept))
        return rows_put(rows, kept);
    for (size_t i = 0; i < rows->n; i++)
        if (is_same_guest(&rows->at[i].record.sample, sample)) {
            rows->at[i] = rows->at[--rows->n];
            break;
        }
    return 0;
}

void rows_free(struct rows *rows)
{
    free(rows->at);
    *rows = (struct rows){0};
}

size_t rows_find(const struct rows *rows, size_t n_shown, const char *uuid)
{
    for (size_t i = 0; i < n_shown; i++)
        if (!strcmp(rows->at[i].record.sample.uuid, uuid))
            return i;
    return rows->n;
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
    return most ? sample_choose_windows(most, window_s) : 0;
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
        return kept_age_s(kept, order->now_s);
    default:
        return 0;
    }
}

static int by_name(const struct kept_sample *a, const struct kept_sample *b)
{
    int rc = strcmp(a->record.sample.domain, b->record.sample.domain);

    return rc != 0 ? rc : strcmp(a->record.sample.uuid, b->record.sample.uuid);
}

static int compare_rows(const void *x, const void *y, void *context)
{
    const struct order *order = context;
    const struct kept_sample *a = x;
    const struct kept_sample *b = y;
    int current = kept_is_current(b, order->now_s) - kept_is_current(a, order->now_s);
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
        qsort_r(rows->at, rows->n, sizeof(*rows->at), compare_rows, &order);
}
