// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file neighbour.h  The panel that vmwssd follows in a guest, published so that who measures by
 * hand can leave it alone.
 *
 * Theory of operation. A panel is a random sample, so what it does not hold is a random sample of
 * pages, too. vmwssd writes where its panel is into run/vmwss/guest-PID.panel while it holds the
 * guest's lock (run_lock.h). A measurement by hand draws from the rest of guest RAM only
 * (guest_ram.taken), so that neither changes a mark of the other, and then gives the lock back
 * (run_lock_give_back()). vmwssd goes on as if nothing had happened. A method that cannot leave the
 * panel alone (a census by the same method, too little RAM beside it) releases the lock as ever,
 * and vmwssd begins a new panel.
 *
 * The file is for root alone, and is read and written under the lock; one that is cut off counts as
 * none.
 */
#pragma once

#include "measure/method.h"

struct neighbour {
    pid_t owner; /* whose panel it is; 0: there is none */
    const struct method *method;
    bool huge; /* some of its pages are huge ones: a second panel is likely to draw the same */
    struct taken taken;
};

/** Publishes a panel as that of this process in the guest of process @p pid; its owner is filled
 * in. */
int neighbour_publish(const struct fsroot *root, pid_t pid, const struct neighbour *panel);

/** Nothing is published for that guest any more. */
void neighbour_withdraw(const struct fsroot *root, pid_t pid);

/** Reads what another process that is alive has published; otherwise @p out has no owner. Free with
 * neighbour_free(). */
void neighbour_read(const struct fsroot *root, pid_t pid, struct neighbour *out);
void neighbour_free(struct neighbour *neighbour);

/** Does @p method leave the marks of the neighbour's alone, if it keeps off its pages? @p accel: of
 * the guest; @p census: if it cannot keep off. */
bool neighbour_allows(const struct neighbour *neighbour, const struct method *method,
                      enum accel accel, bool census);

/** Do its marks outlast a flush of the guest's TLB (tlb_flush.h) that keeps off its pages? */
bool neighbour_bears_flush(const struct neighbour *neighbour, const struct target *target);

/** Is enough of @p ram left beside the neighbour's panel to draw another? */
bool neighbour_leaves_room(const struct neighbour *neighbour, const struct guest_ram *ram);
