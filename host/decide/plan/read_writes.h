// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file read_writes.h  Reads what the guests of a fleet write, from histories: writes.h. */
#pragma once

#include "decide/plan/roster.h"

/** Where curves are read from, and to. */
struct plan_writes_reading {
    const struct plan_reading *reading;
    const struct roster *roster;
    struct plan_fleet *fleet;
    size_t source; /* a file */
};

/** Reads the curves that the source has of guests in the plan, if they are wanted. Returns 0;
 * -ENOMEM; or an error of the history. */
int plan_read_writes(const struct plan_writes_reading *from, struct store *store,
                     struct error *error);
