// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file adoption.h  Which balloons are ours: adopts those that an earlier controller left, and
 * gives up those that are no longer ours. The journal has one row for each guest (journal_own()).
 *
 * A row belongs to the guest's present run if host and libvirt have not been restarted and the
 * domain's ID is the same, or if its balloon is as it was set: a guest that was saved and restored,
 * or has migrated away and back, has another ID. A guest from another host is recognised by its
 * mark (domain_mark.h), in the same way, even if its balloon is still moving. A guest that is still
 * arriving is looked up once it has arrived. The size learned from the last panic belongs to the
 * guest, whatever the run, and stays in the row even if there is nothing to restore.
 */
#pragma once

#include "programs/balloond/context.h"

/** Returns a guest's row, if it is ours or is about to be. */
struct journal_balloon adoption_row(const struct balloond *balloond, size_t i, uint64_t set_bytes);

/** Adopts the balloons of guests that were not seen before; call it after members_measure() and
 * before a decision. In a dry run it takes over only what was learned, and logs that balloons are
 * still set. Returns 0; or negative with the message: nothing has been adopted, and the next call
 * tries again. */
int adoption_run(struct balloond *balloond, struct error *error);

/** Writes the present state into the row: what is to be restored in this run, or nothing. Returns 0
 * or negative with the message. */
int adoption_write(struct balloond *balloond, size_t i, struct error *error);

/** As adoption_write(); failures are logged. */
void adoption_renew(struct balloond *balloond, size_t i);

/** Writes the balloon's original size, and the target about to be set, into the domain's metadata:
 * the mark goes with the guest to another host, whose controller adopts the balloon by it. A
 * failure is logged once. */
void adoption_mark(struct balloond *balloond, size_t i, uint64_t set_bytes);

/** Gives up a balloon with nothing left to restore: removes the row, except for what was learned,
 * and the mark. */
int adoption_give_up(struct balloond *balloond, size_t i, struct error *error);

/** Notes that the balloon was set to its final size. On the way it may pause for so long that the
 * next controller takes it for a balloon at rest, so its row stays and records this. The balloon
 * is no longer ours: if others are tried again it is left alone. */
int adoption_restored(struct balloond *balloond, size_t i, struct error *error);

/** Returns how many balloons, or periods of their statistics, in the journal are to be restored,
 * whether their guests run or not;
 * negative: the journal cannot be read. */
ssize_t adoption_count(struct balloond *balloond, struct error *error);
