// SPDX-License-Identifier: LGPL-2.1-or-later
#include "wss/plan.h"

#include <math.h>

bool plan_goes_on(const struct plan *plan, unsigned k, double elapsed_s)
{
    if (plan->kind == PLAN_PROFILE)
        return k < plan->steps;
    return k == 0 || (plan->kind != PLAN_ONCE && (plan->total_s <= 0 || elapsed_s < plan->total_s));
}

double plan_due_s(const struct plan *plan, unsigned k)
{
    switch (plan->kind) {
    case PLAN_GROWTH:
        return plan->duration_s * (k + 1.0);
    case PLAN_PROFILE:
        return ldexp(plan->duration_s, (int)k);
    case PLAN_ONCE:
    case PLAN_SNAPSHOTS:
        break;
    }
    return plan->duration_s;
}
