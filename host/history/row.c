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

static json_t *put_window(const void *element)
{
    const struct window_record *window = element;
    json_t *array = number_array(window_fields(), window);

    if (window->unit_low_bytes <= window->wss_low_bytes)
        json_array_set_new(array, UNIT_LOW, json_integer(0));
    return array;
}

static json_t *put_bin(const void *element)
{
    const struct age_bin *bin = element;
    json_t *to = isinf(bin->to_s) ? json_null() : json_real(bin->to_s);

    return json_pack("[foooo]", bin->from_s, to, json_u64(bin->bytes), json_u64(bin->low_bytes),
                     json_u64(bin->high_bytes));
}

static json_t *put_point(const void *element)
{
    return number_array(write_point_fields(), element);
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

static int take_window(void *element, const json_t *array)
{
    struct window_record *window = element;

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

static int take_point(void *element, const json_t *array)
{
    struct write_point *point = element;

    *point = (struct write_point){0};
    return parse_numbers(write_point_fields(), point, array) == N_POINT &&
                   point->low_bytes <= point->bytes && point->bytes <= point->high_bytes &&
                   point->window_s > 0 && point->est_window_s > 0
               ? 0
               : -EUCLEAN;
}

static int take_bin(void *element, const json_t *array)
{
    struct age_bin *bin = element;
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

/* --- arrays ----------------------------------------------------------------------------------- */

/* Readers divide by the distance of two points. */
static bool points_ascend(const void *base)
{
    const struct write_curve *curve = base;

    for (size_t i = 1; i < curve->n; i++)
        if (!(curve->points[i].est_window_s > curve->points[i - 1].est_window_s))
            return false;
    return curve->n > 0;
}

/* A member that is an array, and the member with its length. */
static const struct row_array {
    enum field_type type;
    size_t length, elements; /* offsets */
    size_t max, element_bytes;
    json_t *(*put)(const void *element);
    int (*take)(void *element, const json_t *array);
    bool (*valid)(const void *base); /* NULL: an array of valid elements is always valid */
} arrays[] = {
    {FIELD_WINDOWS, offsetof(struct sample_record, n_windows),
     offsetof(struct sample_record, windows), RUN_MAX_WINDOWS, sizeof(struct window_record),
     put_window, take_window, NULL},
    {FIELD_AGES, offsetof(struct ages_record, n_bins), offsetof(struct ages_record, bins),
     RUN_MAX_WINDOWS + 1, sizeof(struct age_bin), put_bin, take_bin, NULL},
    {FIELD_POINTS, offsetof(struct write_curve, n), offsetof(struct write_curve, points),
     WRITE_POINTS_MAX, sizeof(struct write_point), put_point, take_point, points_ascend},
};

static const struct row_array *array_of(enum field_type type)
{
    const struct row_array *of = arrays;

    while (of->type != type)
        of++;
    return of;
}

/* Nine digits represent a window of eleven days to the millisecond. */
char *row_text(enum field_type type, const void *base)
{
    const struct row_array *of = array_of(type);
    const size_t *n = (const void *)((const char *)base + of->length);
    const char *element = (const char *)base + of->elements;
    cleanup_json json_t *array = json_array();
    bool complete = array != NULL;

    for (size_t i = 0; i < *n && complete; i++)
        complete = json_array_append_new(array, of->put(element + i * of->element_bytes)) == 0;
    return complete ? json_dumps(array, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
}

int row_parse(enum field_type type, const char *text, void *base)
{
    const struct row_array *of = array_of(type);
    size_t *n = (void *)((char *)base + of->length);
    char *element = (char *)base + of->elements;
    cleanup_json json_t *array = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

    *n = 0;
    if (!json_is_array(array) || json_array_size(array) > of->max)
        return -EUCLEAN;
    for (; *n < json_array_size(array); ++*n)
        if (of->take(element + *n * of->element_bytes, json_array_get(array, *n)) < 0)
            return -EUCLEAN;
    return of->valid && !of->valid(base) ? -EUCLEAN : 0;
}
