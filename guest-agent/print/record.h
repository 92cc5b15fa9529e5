// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file record.h  The members, besides the schema, at the beginning of every JSON object of
 * vmwss-guest. */
#pragma once

#define RECORD_TIME 32

/** The current time in UTC with milliseconds, as in vmwss.sample.v1: "2026-01-02T03:04:05.678Z".
 * Returns @p text. */
char *record_time(char text[RECORD_TIME]);
