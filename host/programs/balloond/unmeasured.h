// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file unmeasured.h  Guests without current numbers: who has none, and why.
 *
 * Nothing is taken from such a guest (VETO_NOT_MEASURED, VETO_STALE). One is nothing unusual while
 * it starts; but where the host has too little CPU time for its guests vmwssd has none either, and
 * then no guest has numbers, no memory is taken, and the host runs short for a reason that is not
 * memory.
 */
#pragma once

#include "programs/balloond/context.h"

/** A guest without numbers for less than this is not reported. */
#define UNMEASURED_S 60

/** Notes how long each guest has had no numbers, and logs it once if some have none, if some report
 * no statistics, or if decisions are late. Call after each decision, before balloond->decided_s is
 * set. */
void unmeasured_note(struct balloond *balloond, const struct control_host *host);

/** Writes how many guests have had no numbers for long, and why. Returns their number. */
size_t unmeasured_explain(char *text, size_t size, const struct members *members,
                          const struct control_host *host);
