// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file row.c  See row.h. */
#include "keep/row.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static json_t *bytes(uint64_t value)
{
    return json_integer((json_int_t)value);
}

/* NULL when the array or one of its numbers could not be made. */
static json_t *window_array(const struct window_record *window)
{
    json_t *array = json_pack("[ffooof]", window->window_s, window->est_window_s,
                              bytes(window->wss_bytes), bytes(window->wss_low_bytes),
                              bytes(window->wss_high_bytes), window->touched_fraction);

    if (array && window->unit_low_bytes > window->wss_low_bytes &&
        json_array_append_new(array, bytes(window->unit_low_bytes)) < 0) {
        json_decref(array);
        return NULL;
    }
    return array;
}

static json_t *bin_array(const struct age_bin *bin)
{
    json_t *to = isinf(bin->to_s) ? json_null() : json_real(bin->to_s);

    return json_pack("[foooo]", bin->from_s, to, bytes(bin->bytes), bytes(bin->low_bytes),
                     bytes(bin->high_bytes));
}

/* Nine digits: a window of eleven days to the millisecond. */
static char *array_text(json_t *array, bool complete)
{
    char *text = complete ? json_dumps(array, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;

    json_decref(array);
    return text;
}

char *row_windows_text(const struct sample_record *sample)
{
    json_t *array = json_array();
    bool complete = array != NULL;

    for (size_t w = 0; w < sample->n_windows && complete; w++)
        complete = json_array_append_new(array, window_array(&sample->windows[w])) == 0;
    return array_text(array, complete);
}

char *row_ages_text(const struct ages_record *record)
{
    json_t *array = json_array();
    bool complete = array != NULL;

    for (size_t b = 0; b < record->n_bins && complete; b++)
        complete = json_array_append_new(array, bin_array(&record->bins[b])) == 0;
    return array_text(array, complete);
}

unsigned row_flags_parse(const char *text)
{
    char copy[SAMPLE_FLAGS_TEXT];
    char *rest = NULL;
    unsigned flags = 0;
    const char *known;

    snprintf(copy, sizeof(copy), "%s", text);
    for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
        for (unsigned i = 0; (known = sample_flag_name(i)); i++)
            if (!strcmp(known, name))
                flags |= 1U << i;
    return flags;
}

static int parse_window(struct window_record *window, const json_t *array)
{
    json_int_t wss;
    json_int_t low;
    json_int_t high;
    json_int_t unit_low;
    bool has_unit_low = json_array_size(array) == 7;

    if (json_unpack((json_t *)array, has_unit_low ? "[FFIIIFI!]" : "[FFIIIF!]", &window->window_s,
                    &window->est_window_s, &wss, &low, &high, &window->touched_fraction,
                    &unit_low) < 0)
        return -EUCLEAN;
    if (!has_unit_low)
        unit_low = low;
    if (low < 0 || unit_low < low || wss < unit_low || high < wss || window->window_s <= 0)
        return -EUCLEAN;
    window->wss_bytes = (uint64_t)wss;
    window->wss_low_bytes = (uint64_t)low;
    window->wss_high_bytes = (uint64_t)high;
    window->unit_low_bytes = (uint64_t)unit_low;
    window->gone_bytes = GONE_NOT_KEPT;
    return 0;
}

static int parse_bin(struct age_bin *bin, const json_t *array)
{
    const json_t *to;
    json_int_t bytes;
    json_int_t low;
    json_int_t high;

    if (json_unpack((json_t *)array, "[FoIII!]", &bin->from_s, &to, &bytes, &low, &high) < 0 ||
        low < 0 || bytes < low || high < bytes || !(json_is_null(to) || json_is_number(to)))
        return -EUCLEAN;
    bin->to_s = json_is_null(to) ? HUGE_VAL : json_number_value(to);
    bin->bytes = (uint64_t)bytes;
    bin->low_bytes = (uint64_t)low;
    bin->high_bytes = (uint64_t)high;
    return 0;
}

/* The text as an array of at most @p max; NULL when it is none. */
static json_t *load_array(const char *text, size_t max)
{
    json_t *array = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

    if (json_is_array(array) && json_array_size(array) <= max)
        return array;
    json_decref(array);
    return NULL;
}

int row_windows_parse(struct sample_record *sample, const char *text)
{
    json_t *array = load_array(text, RUN_MAX_WINDOWS);
    int rc = array ? 0 : -EUCLEAN;

    sample->n_windows = 0;
    for (size_t i = 0; rc == 0 && i < json_array_size(array); i++)
        rc = parse_window(&sample->windows[sample->n_windows++], json_array_get(array, i));
    json_decref(array);
    return rc;
}

int row_ages_parse(struct ages_record *record, const char *text)
{
    json_t *array = load_array(text, RUN_MAX_WINDOWS + 1);
    int rc = array ? 0 : -EUCLEAN;

    record->n_bins = 0;
    for (size_t i = 0; rc == 0 && i < json_array_size(array); i++)
        rc = parse_bin(&record->bins[record->n_bins++], json_array_get(array, i));
    json_decref(array);
    return rc;
}
