// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file neighbour.h  The panel that vmwssd follows in a guest, published so that a measurement by
 * hand can leave it alone.
 *
 * Theory of operation. A panel is a random sample, so the pages outside of it are a random sample,
 * too. vmwssd writes the location of its panel into run/vmwss/guest-PID.panel while it holds the
 * guest's lock (run_lock.h). A measurement by hand draws only from the rest of guest RAM
 * (guest_ram.taken), so that neither process changes marks of the other, and then gives the lock
 * back (run_lock_give_back()); vmwssd does not notice. If a measurement must disturb the panel (a
 * census by the same method, or too little other RAM), it releases the lock in the usual way, and
 * vmwssd begins a new panel.
 *
 * Only root can access the file, and it is read and written under the lock; a truncated file is
 * ignored.
 */
#pragma once

#include "base/run_dir.h"
#include "measure/method.h"

struct neighbour {
    pid_t owner; /* process that owns the panel; 0: no panel */
    const struct method *method;
    bool huge; /* the panel has huge pages, which a second panel is likely to draw as well */
    struct taken taken;
};

/** Publishes a panel of this process in the guest of process @p pid, as @p file. Returns 0 or a
 * negative errno. */
int neighbour_publish(const struct fsroot *root, pid_t pid, const struct neighbour *panel,
                      char file[RUN_DIR_NAME_MAX]);

/** Removes the published panel. The name of a guest that has ended cannot be had from its pid. */
void neighbour_withdraw(const struct fsroot *root, const char *file);

/** Reads the panel that another living process has published; otherwise @p out has no owner. Free
 * with neighbour_free(). */
void neighbour_read(const struct fsroot *root, pid_t pid, struct neighbour *out);
void neighbour_free(struct neighbour *neighbour);

/** Returns true if @p method does not disturb the marks of the neighbour's panel as long as it does
 * not use the panel's pages. @p accel: the guest's; @p census: the method must use all pages. */
bool neighbour_allows(const struct neighbour *neighbour, const struct method *method,
                      enum accel accel, bool census);

/** Returns true if the panel's marks survive a flush of the guest's TLB (tlb_flush.h) that excludes
 * the panel's pages. */
bool neighbour_bears_flush(const struct neighbour *neighbour, const struct target *target);

/** Returns true if @p ram has enough pages outside the neighbour's panel for another panel. */
bool neighbour_leaves_room(const struct neighbour *neighbour, const struct guest_ram *ram);
