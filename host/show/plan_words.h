// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file plan_words.h  The sentences about a plan, for the terminal (plan.c) and for a page
 * (html_plan.h). */
#pragma once

#include "show/plan_shown.h"

#include <stdio.h>

/** How sentences are written. */
struct plan_voice {
    FILE *out;
    /* writes a host's name safely; the name may be any bytes */
    void (*name)(FILE *out, const char *name);
    const char *begin, *end; /* written before and after each sentence: "", "\n" */
};

/** Writes a whole sentence. */
__attribute__((format(printf, 2, 3))) void plan_say(const struct plan_voice *voice,
                                                    const char *format, ...);

/** Writes where the new guests of the request fit, and how many more would fit; nothing if the
 * request has no new guests. */
void plan_say_places(const struct plan_voice *voice, const struct plan_shown *shown);

/** Writes the result of the moves, and how many hosts are short of memory; nothing if no moves were
 * requested. */
void plan_say_moves(const struct plan_voice *voice, const struct plan_shown *shown);

/** Writes what the moves cost; nothing if there are none. */
void plan_say_prices(const struct plan_voice *voice, const struct plan_shown *shown);

/** Writes which guests are not moved because their migrations would not converge. */
void plan_say_stuck(const struct plan_voice *voice, const struct plan_shown *shown);

/** Writes the overcommit ratio; nothing if it is not known. */
void plan_say_ratio(const struct plan_voice *voice, const struct plan_shown *shown);

/** Writes which data are stale, young or unknown. */
void plan_say_doubts(const struct plan_voice *voice, const struct plan_shown *shown);

/** Returns "stale", "short"; "" if there is nothing to note. */
const char *plan_host_note(const struct plan_host *host, const struct plan_host_result *result);

/** A runway of this many days or more is shown as never. */
#define PLAN_NEVER_DAYS 3650

/** "40d (22d-never)", "never", "-" if it is not known. */
char *plan_runway_text(char *text, size_t size, const struct plan_runway *runway);

/** The texts of a move's reason, by enum plan_why: for programs, and for people before the host's
 * name. */
extern const struct plan_why_text {
    const char *why, *gain;
} plan_why_texts[];

/** "others take it", "2 stay down"; "-" if the host has no guests. @p after: after the moves. */
char *plan_unplaced_text(char *text, size_t size, const struct plan_host_result *host, bool after);

/** "suspended pinned ", "size of window 10m". */
char *plan_guest_note(char *text, size_t size, const struct plan_guest *guest);

/** "any", or an hour of the week, UTC: "Sun 03:00". */
char *plan_hour_text(char *text, size_t size, unsigned hour);

/** "14s [12s, 17s]", "at best 12s". */
char *plan_takes_text(char *text, size_t size, const struct plan_price *price);

/** Converts a share of time to minutes of a month. */
double plan_month_minutes(double share);
