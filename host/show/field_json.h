// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file field_json.h  Fields (measure/record/field.h) as members of a JSON object. */
#pragma once

#include "measure/record/field.h"

#include <jansson.h>

/** Makes a value. @p digit: round numbers to a multiple of it; 0: do not round. An unknown value
 * gives NULL. The caller owns the result. */
json_t *value_json(const struct field_value *value, double digit);

/** Sets the field of the struct at @p base under its JSON name; an unknown value is left out. */
void field_json_set(json_t *object, const struct field *field, const void *base);
