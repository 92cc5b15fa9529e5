// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file html_plan_tables.h  The tables on the page of html_plan.h. */
#pragma once

#include "show/plan_shown.h"

#include <stdio.h>

/** Rows of guests, and moves, at most. */
#define HTML_PLAN_GUESTS 1000
#define HTML_PLAN_MOVES 2000

/** All hosts. */
void html_plan_hosts(FILE *out, const struct plan_shown *shown);

/** Moves, host by host that they leave; nothing if there are none. */
void html_plan_moves(FILE *out, const struct plan_shown *shown);

/** Guests and their right sizes. 0; -ENOMEM */
int html_plan_guests(FILE *out, const struct plan_shown *shown);
