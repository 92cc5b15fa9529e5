// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file sample_json.h  A sample record as JSON. */
#pragma once

#include "measure/record/sample_record.h"
#include "show/sheet.h"

/** Makes the record as an object without a schema, which the caller owns and may extend. Returns
 * NULL if out of memory. */
json_t *sample_json(const struct sample_record *record);

/** Sets the record's members, without a schema, in the open object or row, if the sheet is JSON. */
void sample_fill(struct sheet *sheet, const struct sample_record *record);

/** Makes an array of the record's windows; NULL if out of memory. */
json_t *sample_windows_json(const struct sample_record *record);

/** Prints the record as one line, schema vmwss.sample.v1. Returns 0 or -ENOMEM. */
int sample_json_print(const struct sample_record *record);
