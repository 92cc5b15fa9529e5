// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file html_plan_tables.h  The tables on the page of html_plan.h. */
#pragma once

#include "show/plan_shown.h"

#include <stdio.h>

/** Maximum numbers of guests and of moves in the tables. */
#define HTML_PLAN_GUESTS 1000
#define HTML_PLAN_MOVES 2000

/** Writes all hosts. */
void html_plan_hosts(FILE *out, const struct plan_shown *shown);

/** Writes the moves, grouped by source host; nothing if there are no moves. */
void html_plan_moves(FILE *out, const struct plan_shown *shown);

/** Writes guests and their right sizes. Returns 0 or -ENOMEM. */
int html_plan_guests(FILE *out, const struct plan_shown *shown);
