// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file fleet.h  All guests that are watched, and the threads that look at them when they are due.
 *
 * Connections say which guests there are; nothing here speaks to libvirt. A guest is the same as long as its
 * QEMU process is: it keeps its panel while libvirtd is away. A guest that takes long holds up one of the
 * threads, and none of the other guests that the second has time for.
 */
#pragma once

#include "daemon/config.h"
#include "daemon/publisher.h"
#include "daemon/writer.h"
#include "domain/domain.h"

struct fleet; /* opaque */

/** @p writer: NULL when no history is kept. Borrows @p root, @p writer and @p publisher; copies @p config. */
int fleet_start(struct fleet **out, const struct fsroot *root, const struct config *config,
                struct writer *writer, struct publisher *publisher, struct error *error);

/** Ends the threads, and restores all guests. NULL is allowed. */
void fleet_stop(struct fleet *fleet);

/** Another configuration: panels that it does not fit begin anew. */
void fleet_configure(struct fleet *fleet, const struct config *config);

/** Is the guest of this UUID watched, as this very process? If so notes whether it stands still. */
bool fleet_note(struct fleet *fleet, const char *uuid, pid_t pid, uint64_t start_ticks,
                bool suspended);

/** Watches an opened guest, which is moved out of @p guest; one of the same UUID is let go. @p source: who says so. */
void fleet_add(struct fleet *fleet, unsigned source, struct guest *guest);

/** Bytes of RAM that the guest was configured with when it was added; 0: it is not watched. */
uint64_t fleet_ram_bytes(struct fleet *fleet, const char *uuid);

/** Lets the guest of this UUID go, if it is watched. */
void fleet_remove(struct fleet *fleet, const char *uuid);

/** Lets go the guests of @p source that are not among @p n UUIDs. */
void fleet_keep_only(struct fleet *fleet, unsigned source, const char (*uuids)[37], size_t n);

/** Readable when the process of a guest has ended: fleet_bury() then. */
int fleet_ended_fd(const struct fleet *fleet);
void fleet_bury(struct fleet *fleet);

struct fleet_state {
    size_t guests;
    size_t refused; /* no method can follow them, or something else is in the way */
    size_t suspended;
    double period_s;  /* planned */
    double share;     /* of one core, lately */
    uint64_t records; /* so far */
    bool alive;       /* all threads have shown themselves lately */
};

struct fleet_state fleet_state(struct fleet *fleet);
