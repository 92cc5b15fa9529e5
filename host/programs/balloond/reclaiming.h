// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file reclaiming.h  Has control groups of guests looked at, and reclaims what was decided; by a
 * process of its own (reclaimer.h), so that nothing waits for the kernel's reclaim. */
#pragma once

#include "programs/balloond/context.h"

/** Starts the process, if reclaim is on; as root, once there is the lock. 0 or negative with the
 * message. */
int reclaiming_begin(struct balloond *balloond, const struct account *account, struct error *error);
void reclaiming_end(struct balloond *balloond);

/** Each tick and after a decision: takes answers, and asks what is due, for a fifth of a second at
 * most. What fails is logged, once. */
void reclaiming_tick(struct balloond *balloond);

/** Reclaims reclaim_bytes of that guest, as soon as those before it are done. 0; 1: an earlier
 * order that is in the journal has not been sent yet, and stands, for no more than that; -EPIPE
 * with the message: the process has ended. */
int reclaiming_order(struct balloond *balloond, size_t i, struct error *error);

/** After the decision went into the journal, or not: what was reclaimed goes into that row, 0:
 * none. An earlier order that has not been sent is withdrawn where it was not ordered again, also
 * from the journal. */
void reclaiming_journalled(struct balloond *balloond, size_t i, int64_t id);
