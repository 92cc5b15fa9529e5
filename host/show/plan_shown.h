// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file plan_shown.h  What is shown of a plan. */
#pragma once

#include "decide/plan/plan.h"

/** A plan, and what it was made from. */
struct plan_shown {
    const struct plan_fleet *fleet;
    const struct plan_request *request;
    const struct plan_result *result;
    double window_s;
};
