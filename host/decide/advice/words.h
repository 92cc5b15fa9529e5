// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file words.h  A decision in words, for people, journals and JSON. Pure functions; all write
 * into the caller's buffer. */
#pragma once

#include "decide/advice/decide.h"

/** "not-measured", ...; NULL if there is no bit of that number (0, 1, ...). */
const char *decide_veto_name(unsigned number);
/** "psi-some", ... */
const char *decide_panic_name(unsigned number);
/** "no-guest-statistics", ... */
const char *decide_unsure_name(unsigned number);
/** "high", "medium", "low". */
const char *decide_confidence_name(enum decide_confidence confidence);
/** "keep", "shrink", "grow". */
const char *decide_action_name(enum decide_action action);
/** "demand", "floor", ... */
const char *decide_term_name(enum decide_term term);
/** "half", "swapless", "swap". */
const char *decide_floor_name(enum decide_floor kind);

/** Large enough for every veto at once. */
#define DECIDE_WHY_TEXT 1024

/** Explains the target, every veto with its figure, and the basis of the floor. Returns @p text. */
char *decide_why(char *text, size_t size, const struct decide_policy *policy,
                 const struct decide_input *input, const struct decide_decision *decision);
