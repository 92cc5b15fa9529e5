// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file field_json.h  Fields (measure/record/field.h) as members of a JSON object. */
#pragma once

#include "measure/record/field.h"

#include <jansson.h>

/** A value; @p digit: a number is rounded to a multiple of it, 0: not. NULL of one that is not
 * known. The caller owns it. */
json_t *value_json(const struct field_value *value, double digit);

/** Sets the field, of the struct at @p base, by its name in JSON; not one that is not known. */
void field_json_set(json_t *object, const struct field *field, const void *base);
