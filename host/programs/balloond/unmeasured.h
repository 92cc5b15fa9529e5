// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file unmeasured.h  Guests without current numbers: who has none, and why.
 *
 * Nothing is taken from such a guest (VETO_NOT_MEASURED, VETO_STALE). A single one is normal: it
 * may just have started. But if the host is so short of CPU time that vmwssd gets none, no guest
 * has numbers, no memory is taken, and the host runs out of memory because it lacks CPU time.
 */
#pragma once

#include "programs/balloond/context.h"

/** A guest without numbers for less than this is not reported. */
#define UNMEASURED_S 60

/** Notes how long each guest has had no numbers, and logs it once if some have none, or if
 * decisions are late. Call after each decision, before balloond->decided_s is set. */
void unmeasured_note(struct balloond *balloond, const struct control_host *host);

/** Writes how many guests have had no numbers for long, and why. Returns their number. */
size_t unmeasured_explain(char *text, size_t size, const struct members *members,
                          const struct control_host *host);
