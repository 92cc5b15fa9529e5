// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file json.h  Small helpers around jansson for everything that prints JSON. */
#pragma once

#include <jansson.h>
#include <stdint.h>

/** Returns a JSON string, cleaned by utf8_clean() if it is not UTF-8; null for NULL or empty
 * text. */
json_t *json_text(const char *text);

static inline json_t *json_u64(uint64_t value)
{
    return json_integer((json_int_t)value);
}

/** Sets a number, unless it is unknown (UINT64_MAX). */
static inline void json_set_known(json_t *object, const char *key, uint64_t value)
{
    if (value != UINT64_MAX)
        json_object_set_new(object, key, json_u64(value));
}

static inline void cleanup_json_at(json_t **json)
{
    json_decref(*json);
}
#define cleanup_json __attribute__((cleanup(cleanup_json_at)))

/** Prints the object as one line to standard output, flushes, and releases it. -ENOMEM or 0. */
int json_print_line(json_t *object);
