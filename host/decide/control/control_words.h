// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file control_words.h  The host's decisions in words, for people, journals and JSON. Pure
 * functions. */
#pragma once

#include "decide/advice/words.h"
#include "decide/control/control.h"

/** "none", "shrink", "grow", "full", "settle", "restore", "reclaim". */
const char *control_action_name(enum control_action action);
/** "none", "decision", "unknown", ... */
const char *control_hold_name(enum control_hold hold);

static inline double control_mib(uint64_t bytes)
{
    return (double)bytes / (double)DECIDE_MIB;
}

#define CONTROL_WHY_TEXT (DECIDE_WHY_TEXT + 512)

/** Explains a guest's order, or why there is no order; call after control_run(). Returns @p text,
 * of CONTROL_WHY_TEXT bytes. */
char *control_why(char *text, const struct control_policy *policy, const struct control_host *host,
                  const struct control_guest *guest);
