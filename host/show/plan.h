// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file plan.h  Prints the plan of a fleet as tables, one JSON object, or CSV. */
#pragma once

#include "show/plan_shown.h"
#include "show/sheet.h"

/** The JSON is of schema vmwss.plan.v1. Returns 0 or -ENOMEM. */
int plan_print(const struct plan_shown *shown, enum show_format format);
