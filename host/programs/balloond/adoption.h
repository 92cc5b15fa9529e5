// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file adoption.h  Which balloons are ours: what a controller before this one left, and what is
 * ours no longer. In the journal that is one row for each guest (journal_own()).
 *
 * A row is of the guest's present run if host and libvirt have not been started anew and the
 * domain's id is the same, or if its balloon is as it was set: a guest that was saved and restored,
 * or has migrated away and back, has another id. One that has come from another host is known by
 * its mark (domain_mark.h), in the same way, also with its balloon on its way. One that is still
 * to arrive is looked up when it has. What its last panic taught is the guest's, whatever the run,
 * and stays in the row when there is nothing to restore.
 */
#pragma once

#include "programs/balloond/context.h"

/** A guest's row, when it is ours, or is about to be. */
struct journal_balloon adoption_row(const struct balloond *balloond, size_t i, uint64_t set_bytes);

/** Adopts the balloons of guests that were not seen before; after members_measure() and before a
 * decision. In a dry run only what was learned, and the log says that they are still set. 0; or
 * negative with the message: nothing has been adopted, and the next call tries again. */
int adoption_run(struct balloond *balloond, struct error *error);

/** Writes the row of what is: of the present run, or that there is nothing to restore. What fails
 * is logged. */
void adoption_renew(struct balloond *balloond, size_t i);

/** Writes into the domain's metadata what its balloon had, and what it is about to be set to: it
 * goes with the guest to another host, which adopts it by that. What fails is logged, once. */
void adoption_mark(struct balloond *balloond, size_t i, uint64_t set_bytes);

/** There is nothing to restore any more: the row goes, but for what was learned, and the mark. */
int adoption_give_up(struct balloond *balloond, size_t i, struct error *error);

/** It has been set to what it is to be left with. On its way there it may stand still, for longer
 * than the next controller takes a balloon for one at rest: its row stays, and says so. It is no
 * longer ours: when others are tried again it is left alone. */
int adoption_restored(struct balloond *balloond, size_t i, struct error *error);

/** How many balloons of the journal are to be restored, of guests that run or not; negative: it
 * cannot be read. */
ssize_t adoption_count(struct balloond *balloond, struct error *error);
