// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file field_json.h  Fields (measure/record/field.h) as members of a JSON object. */
#pragma once

#include "measure/record/field.h"

#include <jansson.h>

/** Makes a JSON value, which the caller owns; NULL if the value is unknown. @p digit: rounds
 * numbers to a multiple of it; 0: does not round. */
json_t *value_json(const struct field_value *value, double digit);

/** Sets the field of the struct at @p base under its JSON name, unless its value is unknown. */
void field_json_set(json_t *object, const struct field *field, const void *base);
