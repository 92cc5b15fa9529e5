// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file plan.h  Prints the plan of a fleet as tables, one JSON object, or CSV. */
#pragma once

#include "base/text/json.h"
#include "show/history.h"
#include "show/plan_shown.h"

/** Returns 0 or -ENOMEM. */
int plan_print(const struct plan_shown *shown, enum show_format format);

/** Makes only the JSON: one object of schema vmwss.plan.v1, which the caller releases. */
json_t *plan_json(const struct plan_shown *shown);

/** Prints only the CSV. */
void plan_csv(const struct plan_shown *shown);
