// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file plan.h  The plan of a fleet as tables, one JSON object, or CSV. */
#pragma once

#include "base/text/json.h"
#include "show/history.h"
#include "show/plan_shown.h"

/** 0 or -ENOMEM */
int plan_print(const struct plan_shown *shown, enum show_format format);

/** The JSON alone: one object of schema vmwss.plan.v1, to be released. */
json_t *plan_json(const struct plan_shown *shown);

/** The CSV alone. */
void plan_csv(const struct plan_shown *shown);
