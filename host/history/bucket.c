// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/bucket.h"

#include "history/numbers.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

void bucket_clear(struct bucket *bucket)
{
    memset(bucket, 0, offsetof(struct bucket, windows));
}

bool bucket_same_window(double a_s, double b_s)
{
    return fabs(a_s - b_s) < SAME_S;
}

const struct bucket_window *bucket_find(const struct bucket *bucket, double window_s)
{
    for (size_t w = 0; w < bucket->n_windows; w++)
        if (bucket_same_window(bucket->windows[w].window_s, window_s))
            return &bucket->windows[w];
    return NULL;
}

/* Makes room for one more window, in ascending order. */
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
        if (bucket_same_window(bucket->windows[w].window_s, window_s))
            return &bucket->windows[w];
    return insert_window(bucket, window_s);
}

/* Merges a value, whose share of the total is @p share, into the mean. */
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
    /* At least a millisecond, to avoid division by zero. */
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

/* Maximum weight, so that no sum of weights overflows: a thousand years. */
#define WEIGHT_MAX 31557600000000ULL

/* Parses "[bin, weight, ...]" into an empty sketch. Bins must ascend, so that each weight counts
 * once in the total. If @p sketch is NULL, discards them. */
static bool parse_bins(struct numbers *numbers, struct sketch *sketch)
{
    uint64_t bin;
    uint64_t weight;
    uint64_t least = 0;

    if (!numbers_take(numbers, '['))
        return false;
    do {
        if (!numbers_whole(numbers, &bin) || !numbers_take(numbers, ',') ||
            !numbers_whole(numbers, &weight) || bin < least || bin >= SKETCH_BINS || weight == 0 ||
            weight > WEIGHT_MAX)
            return false;
        least = bin + 1;
        if (sketch) {
            sketch->weight[bin] = weight;
            sketch->total += weight;
        }
    } while (numbers_take(numbers, ','));
    return numbers_take(numbers, ']');
}

/* Takes whole numbers, each followed by a comma. */
static bool parse_whole(struct numbers *numbers, uint64_t *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!numbers_whole(numbers, &values[i]) || !numbers_take(numbers, ','))
            return false;
    return true;
}

/* Returns NULL if there are too many windows, or if the window exists. */
static struct bucket_window *new_window(struct bucket *bucket, double window_s)
{
    struct bucket_window *window = find_or_insert(bucket, window_s);

    return window && window->records == 0 ? window : NULL;
}

static bool parse_window(struct numbers *numbers, struct bucket *bucket, double only)
{
    enum { N, MEAN, LOW, HIGH, MIN, MAX, VALUES };
    struct bucket_window *window;
    uint64_t value[VALUES];
    double window_s;
    double est_s;

    if (!numbers_take(numbers, '[') || !numbers_real(numbers, &window_s) ||
        !numbers_take(numbers, ',') || !numbers_real(numbers, &est_s) ||
        !numbers_take(numbers, ',') || !parse_whole(numbers, value, VALUES) || value[N] == 0 ||
        value[MAX] < value[MIN] || window_s <= 0)
        return false;
    if (only > 0 && !bucket_same_window(window_s, only))
        return parse_bins(numbers, NULL) && numbers_take(numbers, ']');
    window = new_window(bucket, window_s);
    if (!window)
        return false;
    window->est_window_s = est_s;
    window->records = value[N];
    window->wss = (double)value[MEAN];
    window->wss_low = (double)value[LOW];
    window->wss_high = (double)value[HIGH];
    window->sketch.min = value[MIN];
    window->sketch.max = value[MAX];
    return parse_bins(numbers, &window->sketch) && numbers_take(numbers, ']');
}

int bucket_windows_parse(struct bucket *bucket, const char *text, size_t size, double only)
{
    struct numbers numbers = {text, text + size};
    size_t n = 0;

    bucket->n_windows = 0;
    if (!numbers_take(&numbers, '['))
        return -EUCLEAN;
    if (!numbers_take(&numbers, ']')) {
        do {
            if (n++ == RUN_MAX_WINDOWS || !parse_window(&numbers, bucket, only))
                return -EUCLEAN;
        } while (numbers_take(&numbers, ','));
        if (!numbers_take(&numbers, ']'))
            return -EUCLEAN;
    }
    return numbers_done(&numbers) ? 0 : -EUCLEAN;
}
