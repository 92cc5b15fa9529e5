// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file plan_words.h  What a plan says in words, the same for a terminal (plan.c) and for a page
 * (html_plan.h). */
#pragma once

#include "show/plan_shown.h"

#include <stdio.h>

/** How sentences are written. */
struct plan_voice {
    FILE *out;
    void (*name)(FILE *out, const char *name); /* a host's: any bytes, so that they do no harm */
    const char *begin, *end;                   /* of each sentence: "", "\n" */
};

/** Where the new guests of the request fit, and how many more do; nothing if it has none. */
void plan_say_places(const struct plan_voice *voice, const struct plan_shown *shown);

/** What the moves gain, and how many hosts are short; nothing if they were not asked for. */
void plan_say_moves(const struct plan_voice *voice, const struct plan_shown *shown);

/** The overcommit ratio; nothing if it is not known. */
void plan_say_ratio(const struct plan_voice *voice, const struct plan_shown *shown);

/** What is stale, young, not known. */
void plan_say_doubts(const struct plan_voice *voice, const struct plan_shown *shown);

/** "stale", "short"; "" if there is nothing to note. */
const char *plan_host_note(const struct plan_host *host, const struct plan_host_result *result);

/** What is so many days ahead is never. */
#define PLAN_NEVER_DAYS 3650

/** "40d (22d-never)", "never", "-" if it is not known. */
char *plan_runway_text(char *text, size_t size, const struct plan_runway *runway);

/** "others take it", "2 stay down"; "-" if there is nothing to take. */
char *plan_unplaced_text(char *text, size_t size, const struct plan_host_result *host);

/** "suspended pinned ", "size of window 10m". */
char *plan_guest_note(char *text, size_t size, const struct plan_guest *guest);

/** Minutes of a month of a share of time. */
double plan_month_minutes(double share);
