// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file bucket.c  See bucket.h. */
#include "keep/bucket.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

void bucket_clear(struct bucket *bucket)
{
    memset(bucket, 0, offsetof(struct bucket, windows));
}

static bool same_window(double a, double b)
{
    return fabs(a - b) < 0.0005; /* they are given to the millisecond */
}

const struct bucket_window *bucket_find(const struct bucket *bucket, double window_s)
{
    for (size_t w = 0; w < bucket->n_windows; w++)
        if (same_window(bucket->windows[w].window_s, window_s))
            return &bucket->windows[w];
    return NULL;
}

/* A place for one more window, which keeps them ascending. */
static struct bucket_window *insert_window(struct bucket *bucket, double window_s)
{
    size_t at = bucket->n_windows;

    if (at == RUN_MAX_WINDOWS)
        return NULL;
    for (; at > 0 && bucket->windows[at - 1].window_s > window_s; at--)
        bucket->windows[at] = bucket->windows[at - 1];
    bucket->n_windows++;
    bucket->windows[at].window_s = window_s;
    bucket->windows[at].records = 0;
    bucket->windows[at].est_window_s = 0;
    bucket->windows[at].wss = bucket->windows[at].wss_low = bucket->windows[at].wss_high = 0;
    sketch_clear(&bucket->windows[at].sketch);
    return &bucket->windows[at];
}

static struct bucket_window *find_or_insert(struct bucket *bucket, double window_s)
{
    for (size_t w = 0; w < bucket->n_windows; w++)
        if (same_window(bucket->windows[w].window_s, window_s))
            return &bucket->windows[w];
    return insert_window(bucket, window_s);
}

/* The mean of what was there and what comes, whose share of the whole is @p share. */
static void blend(double *mean, double value, double share)
{
    *mean += (value - *mean) * share;
}

static void add_window(struct bucket *bucket, const struct window_record *window,
                       uint64_t period_ms)
{
    struct bucket_window *into = find_or_insert(bucket, window->window_s);

    if (!into)
        return;
    sketch_add(&into->sketch, window->wss_bytes, period_ms);

    double share = (double)period_ms / (double)into->sketch.total;

    into->records++;
    blend(&into->est_window_s, window->est_window_s, share);
    blend(&into->wss, (double)window->wss_bytes, share);
    blend(&into->wss_low, (double)window->wss_low_bytes, share);
    blend(&into->wss_high, (double)window->wss_high_bytes, share);
}

void bucket_add(struct bucket *bucket, const struct kept_sample *kept)
{
    const struct sample_record *sample = &kept->record.sample;
    /* A millisecond at least, so that nothing is divided by zero. */
    uint64_t period_ms = kept->period_s < 0.001 ? 1 : (uint64_t)llround(kept->period_s * 1000);

    bucket->records++;
    bucket->period_ms += period_ms;

    double share = (double)period_ms / (double)bucket->period_ms;

    summary_add(&bucket->summary, kept, share);
    if (sample->resident_bytes > bucket->resident_max_bytes)
        bucket->resident_max_bytes = sample->resident_bytes;
    for (size_t w = 0; w < sample->n_windows; w++)
        add_window(bucket, &sample->windows[w], period_ms);
}

/* --- as text ---------------------------------------------------------------------------------- */

static json_t *bins_json(const struct sketch *sketch)
{
    json_t *bins = json_array();

    for (size_t i = 0; i < SKETCH_BINS; i++)
        if (sketch->weight[i] > 0) {
            json_array_append_new(bins, json_integer((json_int_t)i));
            json_array_append_new(bins, json_integer((json_int_t)sketch->weight[i]));
        }
    return bins;
}

static json_t *window_json(const struct bucket_window *window)
{
    return json_pack("[ffIIIIIIo]", window->window_s, window->est_window_s,
                     (json_int_t)window->records, (json_int_t)llround(window->wss),
                     (json_int_t)llround(window->wss_low), (json_int_t)llround(window->wss_high),
                     (json_int_t)window->sketch.min, (json_int_t)window->sketch.max,
                     bins_json(&window->sketch));
}

char *bucket_windows_text(const struct bucket *bucket)
{
    json_t *array = json_array();
    bool complete = array != NULL;
    char *text;

    for (size_t w = 0; w < bucket->n_windows && complete; w++)
        complete = json_array_append_new(array, window_json(&bucket->windows[w])) == 0;
    text = complete ? json_dumps(array, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(array);
    return text;
}

/* Weights are bounded so that no sum of them overflows: a thousand years. */
#define WEIGHT_MAX 31557600000000LL

static int parse_bins(struct sketch *sketch, const json_t *bins)
{
    size_t n = json_array_size(bins);

    if (n == 0 || n % 2 || n > (size_t)2 * SKETCH_BINS)
        return -EUCLEAN;
    for (size_t i = 0; i < n; i += 2) {
        const json_t *bin = json_array_get(bins, i);
        const json_t *weight = json_array_get(bins, i + 1);

        if (!json_is_integer(bin) || !json_is_integer(weight) || json_integer_value(bin) < 0 ||
            json_integer_value(bin) >= SKETCH_BINS || json_integer_value(weight) <= 0 ||
            json_integer_value(weight) > WEIGHT_MAX)
            return -EUCLEAN;
        sketch->weight[json_integer_value(bin)] = (uint64_t)json_integer_value(weight);
        sketch->total += (uint64_t)json_integer_value(weight);
    }
    return 0;
}

static int parse_window(struct bucket *bucket, const json_t *array, double only)
{
    double window_s;
    double est_s;
    json_int_t n;
    json_int_t mean;
    json_int_t low;
    json_int_t high;
    json_int_t min;
    json_int_t max;
    json_t *bins;

    if (json_unpack((json_t *)array, "[FFIIIIIIo!]", &window_s, &est_s, &n, &mean, &low, &high,
                    &min, &max, &bins) < 0 ||
        n <= 0 || mean < 0 || low < 0 || high < 0 || min < 0 || max < min || window_s <= 0)
        return -EUCLEAN;
    if (only > 0 && !same_window(window_s, only))
        return 0;

    struct bucket_window *window = find_or_insert(bucket, window_s);

    if (!window || window->records > 0)
        return -EUCLEAN; /* too many, or one of them twice */
    window->est_window_s = est_s;
    window->records = (uint64_t)n;
    window->wss = (double)mean;
    window->wss_low = (double)low;
    window->wss_high = (double)high;
    window->sketch.min = (uint64_t)min;
    window->sketch.max = (uint64_t)max;
    return parse_bins(&window->sketch, bins);
}

int bucket_windows_parse(struct bucket *bucket, const char *text, size_t size, double only)
{
    json_t *array = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    int rc = json_is_array(array) && json_array_size(array) <= RUN_MAX_WINDOWS ? 0 : -EUCLEAN;

    bucket->n_windows = 0;
    for (size_t i = 0; rc == 0 && i < json_array_size(array); i++)
        rc = parse_window(bucket, json_array_get(array, i), only);
    json_decref(array);
    return rc;
}
