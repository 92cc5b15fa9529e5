// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file plan_shown.h  The data of a plan's output. */
#pragma once

#include "decide/plan/plan.h"

/** A plan, and its input. */
struct plan_shown {
    const struct plan_fleet *fleet;
    const struct plan_request *request;
    const struct plan_result *result;
    double window_s;
    double size_quantile; /* of right sizes */
};
