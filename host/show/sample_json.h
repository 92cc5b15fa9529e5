// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file sample_json.h  A sample record as JSON. */
#pragma once

#include "measure/record/sample_record.h"

#include <jansson.h>

/** The record as an object that the caller owns; more may be put into it. NULL when out of
 * memory. */
json_t *sample_json(const struct sample_record *record, const char *schema);

/** Its windows alone, likewise. */
json_t *sample_windows_json(const struct sample_record *record);

/** Prints the record as one line, schema vmwss.sample.v1. 0 or -ENOMEM. */
int sample_json_print(const struct sample_record *record);
