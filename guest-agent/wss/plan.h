// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file plan.h  When to read: once, repeatedly, or after times that double. */
#pragma once

#include <stdbool.h>

enum plan_kind {
    PLAN_ONCE,
    PLAN_GROWTH,    /* after each duration, counting from one mark */
    PLAN_PROFILE,   /* after duration, twice, four times, ... counting from one mark */
    PLAN_SNAPSHOTS, /* a new mark for each duration, with a pause between them */
};

struct plan {
    enum plan_kind kind;
    double duration_s;
    double pause_s;
    double total_s; /* for growth and snapshots; 0: until interrupted */
    unsigned steps; /* for a profile */
};

/** Returns true if reading number @p k (from 0) is to be made, @p elapsed_s after the first
 * mark. */
bool plan_goes_on(const struct plan *plan, unsigned k, double elapsed_s);

/** The time after the last mark at which reading @p k is due. */
double plan_due_s(const struct plan *plan, unsigned k);
