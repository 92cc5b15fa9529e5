// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/row.h"

#include "base/array.h"
#include "base/text/json.h"
#include "measure/record/field.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

/* The order of a window's numbers; newer numbers come last. */
static const enum field_group groups[] = {GROUP_WINDOW, GROUP_WSS, GROUP_TOUCHED, GROUP_UNITS,
                                          GROUP_RAN};
#define N_ALWAYS 6
#define N_POINT 5         /* of a curve */
#define UNIT_LOW N_ALWAYS /* its index */

/* Appends a number; if the last one is unknown, it is omitted. */
static int append_number(json_t *array, const struct field *field, const void *base)
{
    struct field_value value;

    field_get(field, base, &value);
    if (value.kind == VALUE_NONE)
        return 0;
    return json_array_append_new(array, value.kind == VALUE_REAL ? json_real(value.real)
                                                                 : json_u64(value.whole));
}

/* The numbers of the struct at @p base, which the table describes. Returns NULL if the array or one
 * of its numbers could not be made. */
static json_t *number_array(const struct field *fields, const void *base)
{
    json_t *array = json_array();

    for (size_t g = 0; g < COUNT(groups); g++)
        for (const struct field *field = field_of_group(fields, groups[g]); field;
             field = field_next_of_group(field))
            if (field->home == HOME_WINDOW && append_number(array, field, base) < 0) {
                json_decref(array);
                return NULL;
            }
    return array;
}

static json_t *window_array(const struct window_record *window)
{
    json_t *array = number_array(window_fields(), window);

    if (window->unit_low_bytes <= window->wss_low_bytes)
        json_array_set_new(array, UNIT_LOW, json_integer(0));
    return array;
}

static json_t *bin_array(const struct age_bin *bin)
{
    json_t *to = isinf(bin->to_s) ? json_null() : json_real(bin->to_s);

    return json_pack("[foooo]", bin->from_s, to, json_u64(bin->bytes), json_u64(bin->low_bytes),
                     json_u64(bin->high_bytes));
}

/* Nine digits represent a window of eleven days to the millisecond. */
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

char *row_points_text(const struct write_curve *curve)
{
    json_t *array = json_array();
    bool complete = array != NULL;

    for (size_t i = 0; i < curve->n && complete; i++)
        complete = json_array_append_new(
                       array, number_array(write_point_fields(), &curve->points[i])) == 0;
    return array_text(array, complete);
}

static int parse_number(const struct field *field, const json_t *value, void *at)
{
    if (field->type == FIELD_REAL && json_is_number(value)) {
        *(double *)at = json_number_value(value);
        return 0;
    }
    if (field->type != FIELD_U64 || !json_is_integer(value) || json_integer_value(value) < 0)
        return -EUCLEAN;
    *(uint64_t *)at = (uint64_t)json_integer_value(value);
    return 0;
}

/* Takes the numbers that are present; returns how many, or -EUCLEAN. */
static ssize_t parse_numbers(const struct field *fields, void *base, const json_t *array)
{
    size_t n = 0;

    if (!json_is_array(array))
        return -EUCLEAN;
    for (size_t g = 0; g < COUNT(groups); g++)
        for (const struct field *field = field_of_group(fields, groups[g]); field;
             field = field_next_of_group(field)) {
            if (field->home != HOME_WINDOW || n == json_array_size(array))
                continue;
            if (parse_number(field, json_array_get(array, n++), (char *)base + field->offset) < 0)
                return -EUCLEAN;
        }
    return n == json_array_size(array) ? (ssize_t)n : -EUCLEAN;
}

static int parse_window(struct window_record *window, const json_t *array)
{
    *window = (struct window_record){.vcpu_s = NAN};

    const ssize_t n = parse_numbers(window_fields(), window, array);

    if (n < N_ALWAYS)
        return -EUCLEAN;
    if (window->unit_low_bytes == 0)
        window->unit_low_bytes = window->wss_low_bytes;
    window->gone_bytes = GONE_NOT_KEPT;
    return window->unit_low_bytes >= window->wss_low_bytes &&
                   window->wss_bytes >= window->unit_low_bytes &&
                   window->wss_high_bytes >= window->wss_bytes && window->window_s > 0 &&
                   !(window->vcpu_s < 0)
               ? 0
               : -EUCLEAN;
}

static int parse_point(struct write_point *point, const json_t *array)
{
    *point = (struct write_point){0};
    return parse_numbers(write_point_fields(), point, array) == N_POINT &&
                   point->low_bytes <= point->bytes && point->bytes <= point->high_bytes &&
                   point->window_s > 0 && point->est_window_s > 0
               ? 0
               : -EUCLEAN;
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

/* Parses the text as an array of at most @p max elements; NULL if it is not one. */
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

int row_points_parse(struct write_curve *curve, const char *text)
{
    json_t *array = load_array(text, WRITE_POINTS_MAX);
    int rc = array && json_array_size(array) > 0 ? 0 : -EUCLEAN;

    curve->n = 0;
    for (size_t i = 0; rc == 0 && i < json_array_size(array); i++) {
        rc = parse_point(&curve->points[i], json_array_get(array, i));
        /* readers divide by the distance of two */
        if (rc == 0 && i > 0 &&
            !(curve->points[i].est_window_s > curve->points[i - 1].est_window_s))
            rc = -EUCLEAN;
        curve->n++;
    }
    json_decref(array);
    return rc;
}
