// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/field_json.h"

#include "base/text/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Milliseconds, rounded down. */
static json_t *time_json(const struct timespec *time)
{
    struct tm utc;
    char text[64];
    size_t n;

    gmtime_r(&time->tv_sec, &utc);
    n = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text + n, sizeof(text) - n, ".%03ldZ", time->tv_nsec / 1000000);
    return json_string(text);
}

static json_t *set_json(const char *names)
{
    json_t *array = json_array();
    char copy[sizeof(((struct field_value *)NULL)->text)];
    char *rest = NULL;

    snprintf(copy, sizeof(copy), "%s", names);
    for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
        json_array_append_new(array, json_string(name));
    return array;
}

json_t *value_json(const struct field_value *value, double digit)
{
    switch (value->kind) {
    case VALUE_WHOLE:
        return json_integer((json_int_t)value->whole);
    case VALUE_REAL:
        return json_real(digit > 0 ? round(value->real / digit) * digit : value->real);
    case VALUE_BOOL:
        return json_boolean(value->whole);
    case VALUE_TIME:
        return time_json(&value->time);
    case VALUE_TEXT:
        return json_text(value->text);
    case VALUE_SET:
        return set_json(value->text);
    default:
        return NULL;
    }
}

void field_json_set(json_t *object, const struct field *field, const void *base)
{
    struct field_value value;

    field_get(field, base, &value);
    if (value.kind != VALUE_NONE)
        json_object_set_new(object, field->json, value_json(&value, field->digit));
}
