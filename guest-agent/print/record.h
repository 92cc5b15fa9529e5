// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file record.h  The sheets of vmwss-guest. */
#pragma once

#include "base/clock.h"
#include "base/text/units.h"
#include "show/sheet.h"

/* The current time in UTC with milliseconds, as in vmwss.sample.v1: "2026-01-02T03:04:05.678Z". */
#define RECORD_TIME TIME_TEXT(clock_s(CLOCK_REALTIME), 3)

/** Begins a sheet with the schema and the time. In JSON it has no unknown numbers. */
void record_begin(struct sheet *sheet, enum show_format format, const char *schema);

/** Sets an object of bytes (integers) or of rates (reals); for people, its members are the rows of
 * a table whose second column is @p heading. Takes ownership of @p object. */
void record_members(struct sheet *sheet, const char *key, json_t *object, const char *heading);
