// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/agent/agent_fields.h"

#include "base/utf8.h"
#include "guest/agent/agent_report.h"
#include "guest/domain/ram_config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_PID (1ULL << 22)
#define MAX_SECONDS 4e9

static int wrong(int code, const char *where, const char *key, const char *what,
                 struct error *error)
{
    return error_set(error, code, "%s.%s: %s", where, key, what);
}

static int read_text(const json_t *value, const char *where, const char *key, char *text,
                     struct error *error)
{
    const char *string = json_string_value(value);

    if (!string)
        return wrong(-EINVAL, where, key, "not text", error);
    if (json_string_length(value) > WIRE_TEXT_MAX)
        return error_set(error, -ERANGE, "%s.%s: longer than %d bytes", where, key, WIRE_TEXT_MAX);
    if (!utf8_is_printable(string))
        return wrong(-EINVAL, where, key, "has control characters", error);
    memcpy(text, string, json_string_length(value) + 1);
    return 0;
}

static int read_real(const json_t *value, const char *where, const char *key, double max,
                     double *out, struct error *error)
{
    double number = json_number_value(value);

    if (!json_is_number(value) || !isfinite(number))
        return wrong(-EINVAL, where, key, "not a number", error);
    if (number < 0 || number > max)
        return error_set(error, -ERANGE, "%s.%s: not within 0 and %.0f", where, key, max);
    *out = fabs(number); /* "-0.0" has a sign */
    return 0;
}

static int read_integer(const json_t *value, const char *where, const char *key, uint64_t min,
                        uint64_t max, uint64_t *out, struct error *error)
{
    json_int_t number = json_integer_value(value);

    if (!json_is_integer(value))
        return wrong(-EINVAL, where, key, "not a whole number", error);
    if (number < (json_int_t)min)
        return error_set(error, -ERANGE, "%s.%s: less than %llu", where, key,
                         (unsigned long long)min);
    if ((uint64_t)number > max)
        return error_set(error, -ERANGE, "%s.%s: more than %llu", where, key,
                         (unsigned long long)max);
    *out = (uint64_t)number;
    return 0;
}

/* Reads a size of memory within the guest: a size above the configured RAM is a lie, or our
 * configuration is stale. */
static int read_ram_bytes(const json_t *value, const char *where, const char *key,
                          uint64_t ram_bytes, uint64_t *out, struct error *error)
{
    int rc = read_integer(value, where, key, 0, INT64_MAX, out, error);

    if (rc == 0 && *out > ram_bytes)
        return error_set(error, -ERANGE,
                         "%s.%s: %llu bytes, but the domain's configuration has %llu of memory",
                         where, key, (unsigned long long)*out, (unsigned long long)ram_bytes);
    return rc;
}

static void set_unknown(enum agent_value value, void *at)
{
    if (value == VALUE_TEXT)
        *(char *)at = '\0';
    else if (value == VALUE_FLAG)
        *(bool *)at = false;
    else if (value == VALUE_PERCENT || value == VALUE_SECONDS)
        *(double *)at = NAN;
    else
        *(uint64_t *)at = AGENT_UNKNOWN;
}

/* The fields of a missing object are all unknown. */
static int read_object(const json_t *value, const char *where, const struct agent_field *field,
                       uint64_t ram_bytes, void *at, struct error *error)
{
    char name[64];

    if (value && !json_is_object(value))
        return wrong(-EINVAL, where, field->key, "not an object", error);
    snprintf(name, sizeof(name), "%s.%s", where, field->key);
    return agent_fields_read(value, name, field->fields, ram_bytes, at, error);
}

static int read_field(const json_t *value, const char *where, const struct agent_field *field,
                      uint64_t ram_bytes, void *at, struct error *error)
{
    switch (field->value) {
    case VALUE_RAM_BYTES:
        return read_ram_bytes(value, where, field->key, ram_bytes, at, error);
    case VALUE_BYTES:
        return read_integer(value, where, field->key, 0, RAM_CONFIG_MAX_BYTES, at, error);
    case VALUE_COUNT:
        return read_integer(value, where, field->key, 0, INT64_MAX, at, error);
    case VALUE_PID:
        return read_integer(value, where, field->key, 1, MAX_PID, at, error);
    case VALUE_PERCENT:
        return read_real(value, where, field->key, 100, at, error);
    case VALUE_SECONDS:
        return read_real(value, where, field->key, MAX_SECONDS, at, error);
    case VALUE_TEXT:
        return read_text(value, where, field->key, at, error);
    case VALUE_FLAG:
        *(bool *)at = json_is_true(value);
        return json_is_boolean(value)
                   ? 0
                   : wrong(-EINVAL, where, field->key, "neither true nor false", error);
    case VALUE_OBJECT:
        return read_object(value, where, field, ram_bytes, at, error);
    }
    return -EINVAL;
}

int agent_fields_read(const json_t *object, const char *where, const struct agent_fields *fields,
                      uint64_t ram_bytes, void *base, struct error *error)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < fields->n; i++) {
        const struct agent_field *field = &fields->field[i];
        void *at = (char *)base + field->offset;
        const json_t *value = json_object_get(object, field->key);

        if (field->value != VALUE_OBJECT)
            set_unknown(field->value, at);
        if (value || field->value == VALUE_OBJECT)
            rc = read_field(value, where, field, ram_bytes, at, error);
    }
    return rc;
}

static json_t *object_json(const struct agent_fields *fields, const void *base)
{
    json_t *object = agent_fields_json(fields, base);

    if (json_object_size(object) > 0)
        return object;
    json_decref(object);
    return NULL;
}

/* NULL if the value is not known. */
static json_t *field_json(const struct agent_field *field, const void *at)
{
    const enum agent_value value = field->value;

    if (value == VALUE_OBJECT)
        return object_json(field->fields, at);
    if (value == VALUE_TEXT)
        return *(const char *)at ? json_string(at) : NULL;
    if (value == VALUE_FLAG)
        return *(const bool *)at ? json_true() : NULL;
    if (value == VALUE_PERCENT || value == VALUE_SECONDS)
        return json_real(*(const double *)at); /* NULL for NAN */
    if (*(const uint64_t *)at == AGENT_UNKNOWN)
        return NULL;
    return json_integer((json_int_t) * (const uint64_t *)at);
}

json_t *agent_fields_json(const struct agent_fields *fields, const void *base)
{
    json_t *object = json_object();

    for (size_t i = 0; i < fields->n; i++) {
        const struct agent_field *field = &fields->field[i];
        json_t *value = field_json(field, (const char *)base + field->offset);

        if (value)
            json_object_set_new(object, field->key, value);
    }
    return object;
}
