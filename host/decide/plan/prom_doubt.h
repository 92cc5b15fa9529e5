// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file prom_doubt.h  Warnings of what a server answers: partial answers, values that are not
 * amounts, and series without a label that the plan needs. */
#pragma once

#include "decide/plan/prom_client.h"
#include "decide/plan/reading.h"

/** Reads a point as prom_point(); returns false also if the value is not an amount: below 0, or
 * above 2^60, which is more than any memory and any time. */
bool prom_amount(const struct prom_answer *answer, size_t series, size_t point, double *time_s,
                 double *value);

/** Returns true for the text of a UUID. */
bool prom_is_uuid(const char *text);

/** Warns of an answer to @p query, which has one metric, and names the series. Each warning names
 * one series and counts the others, so a bad exporter has a few lines. */
void prom_doubt(const struct prom_client *client, const struct plan_reading *reading,
                const char *query, const struct prom_answer *answer);
