// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file plan_words.h  A plan in words, the same for a terminal (plan.c) and for a page
 * (html_plan.h). */
#pragma once

#include "show/plan_shown.h"

#include <stdio.h>

/** The way in which sentences are written. */
struct plan_voice {
    FILE *out;
    /* writes a host's name, which may be any bytes, safely */
    void (*name)(FILE *out, const char *name);
    const char *begin, *end; /* start and end of each sentence: "", "\n" */
};

/** Tells where the new guests of the request fit, and how many more would; nothing if the request
 * has none. */
void plan_say_places(const struct plan_voice *voice, const struct plan_shown *shown);

/** Tells the result of the moves, and how many hosts are short; nothing if moves were not
 * requested. */
void plan_say_moves(const struct plan_voice *voice, const struct plan_shown *shown);

/** Tells the overcommit ratio; nothing if it is not known. */
void plan_say_ratio(const struct plan_voice *voice, const struct plan_shown *shown);

/** Tells which data are stale, young or unknown. */
void plan_say_doubts(const struct plan_voice *voice, const struct plan_shown *shown);

/** Returns "stale", "short"; "" if there is nothing to note. */
const char *plan_host_note(const struct plan_host *host, const struct plan_host_result *result);

/** A runway of this many days or more is shown as never. */
#define PLAN_NEVER_DAYS 3650

/** "40d (22d-never)", "never", "-" if it is not known. */
char *plan_runway_text(char *text, size_t size, const struct plan_runway *runway);

/** Words of a move's reason, by enum plan_why: for programs, and before the host's name. */
extern const struct plan_why_text {
    const char *why, *gain;
} plan_why_texts[];

/** "others take it", "2 stay down"; "-" if there are no guests to take. @p after: after the moves.
 */
char *plan_unplaced_text(char *text, size_t size, const struct plan_host_result *host, bool after);

/** "suspended pinned ", "size of window 10m". */
char *plan_guest_note(char *text, size_t size, const struct plan_guest *guest);

/** Returns the minutes of a month for a share of time. */
double plan_month_minutes(double share);
