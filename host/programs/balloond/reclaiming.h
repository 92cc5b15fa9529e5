// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file reclaiming.h  Reads guests' control groups, and carries out reclaim decisions, through a
 * separate process (reclaimer.h), so that nothing else waits for the kernel's reclaim. */
#pragma once

#include "programs/balloond/context.h"

/** Starts the process if reclaim is on; call it as root, once the lock is held. Returns 0 or
 * negative with the message. */
int reclaiming_begin(struct balloond *balloond, const struct account *account, struct error *error);
void reclaiming_end(struct balloond *balloond);

/** Call it each tick and after a decision: takes answers, and sends due requests, for a fifth of a
 * second at most. A failure is logged once. */
void reclaiming_tick(struct balloond *balloond);

/** Orders that reclaim_bytes be reclaimed from that guest, as soon as earlier orders are done.
 * Returns 0; 1: an earlier order that is in the journal has not been sent yet, and remains,
 * limited to this amount; -EPIPE with the message: the process has ended. */
int reclaiming_order(struct balloond *balloond, size_t i, struct error *error);

/** Call it after the decision was added to the journal, or was not: the reclaimed amount goes into
 * row @p id, 0: none. An earlier order that has not been sent is withdrawn, also from the journal,
 * unless it was ordered again. */
void reclaiming_journalled(struct balloond *balloond, size_t i, int64_t id);
