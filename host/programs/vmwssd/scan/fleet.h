// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file fleet.h  All guests that are measured, and the threads that scan them at their deadlines.
 *
 * Connections report the guests; nothing here speaks to libvirt. A guest is identified by its QEMU
 * process, so its panel survives a libvirtd restart. A slow guest occupies one of two threads,
 * while the second continues with the other guests; if a scan hangs, an additional thread replaces
 * its thread.
 */
#pragma once

#include "guest/domain/domain.h"
#include "programs/vmwssd/agents/agents.h"
#include "programs/vmwssd/config/config.h"
#include "programs/vmwssd/scanner/scanner.h"
#include "programs/vmwssd/sinks/publisher.h"
#include "programs/vmwssd/sinks/writer.h"

struct fleet; /* opaque */

/** The scanner that makes the records, the agents that add to them, and the sinks that store and
 * publish them. Borrowed. */
struct fleet_sinks {
    struct scanner *scanner;
    struct writer *writer; /* NULL: there is no history */
    struct publisher *publisher;
    struct agents *agents;
};

/** Borrows @p root; copies @p config. */
int fleet_start(struct fleet **out, const struct fsroot *root, const struct config *config,
                const struct fleet_sinks *sinks, struct error *error);

/** Ends the threads, which restore all guests; later calls by connections are ignored. The fleet is
 * not freed, because a thread that waits for libvirt may call it as long as the process lives.
 * Accepts NULL. */
void fleet_stop(struct fleet *fleet);

/** Sets a new configuration: panels that do not fit it begin anew. */
void fleet_configure(struct fleet *fleet, const struct config *config);

/** Returns true if the guest with this UUID is measured as this same process. Returns false if it
 * was found as a process and is now reported by libvirt, which knows more about it. If it is from
 * @p source, notes whether it is suspended: on a host that it has just left by migration it is
 * paused, and the process found by its UUID is the one that runs elsewhere. */
bool fleet_note(struct fleet *fleet, unsigned source, const char *uuid, pid_t pid,
                uint64_t start_ticks, bool suspended);

/** Returns true if this same process is measured, whichever source found it. */
bool fleet_watches(struct fleet *fleet, pid_t pid, uint64_t start_ticks);

/** Returns true if a guest with this UUID is measured; with @p of_libvirt, one that libvirt
 * reported. */
bool fleet_has(struct fleet *fleet, const char *uuid, bool of_libvirt);

/** Returns how many guests of other sources wait to be opened. */
size_t fleet_waiting_elsewhere(struct fleet *fleet, unsigned source);

/** Notes whether the guest with this UUID from @p source is suspended, if its process is not known
 * now. */
void fleet_note_moving(struct fleet *fleet, unsigned source, const char *uuid, bool suspended);

/** Notes that a job (enum sample_flag) runs on the guest with this UUID, or has just ended: its
 * records are flagged for as long as a window reaches back to it. @p source: as below. */
void fleet_note_job(struct fleet *fleet, unsigned source, const char *uuid, unsigned flags);

/** Notes that the guest with this UUID, measured or not, migrated in or out: its history has the
 * event. */
void fleet_note_move(struct fleet *fleet, const char *uuid, enum event_kind kind);

/** Checks the threads of a few guests for such jobs, which may begin and end between two scans;
 * call it every FLEET_JOBS_MS. Each call checks other guests, as many as the budget allows. */
void fleet_find_jobs(struct fleet *fleet);

#define FLEET_JOBS_MS 500

/** Adds a guest that the scanner has open and that @p source reported; the fleet owns it from here
 * on. Removes a guest with the same UUID from this source, and any with the same process. */
void fleet_add(struct fleet *fleet, unsigned source, struct scan_guest_ref *opened);

/** Returns the scanner that opens its guests. */
struct scanner *fleet_scanner(const struct fleet *fleet);

/**
 * Notes that @p n guests of @p source wait to be opened; 0: none any more. Returns for how many
 * seconds the budget allows none to be opened; 0: one may be opened now.
 * @param last_ns when one
 * was opened last; 0: not yet
 */
double fleet_wait_to_open(struct fleet *fleet, unsigned source, size_t n, uint64_t last_ns);

/** Notes that a device was plugged into or out of the guest with this UUID: removes the guest,
 * unless its RAM is made of the same backends as when it was added (@p xml: from its current live
 * XML; it is refined); and the way to its agent may have changed. @p source: as below. */
void fleet_plugged(struct fleet *fleet, unsigned source, const char *uuid, struct ram_config *xml);

/** Removes the guest with this UUID, if @p source reported it: after a migration from one libvirtd
 * of this machine to another, the first no longer knows the guest, but the second does. */
void fleet_remove(struct fleet *fleet, unsigned source, const char *uuid);

/** Removes the guests of @p source that are not among @p n UUIDs. */
void fleet_keep_only(struct fleet *fleet, unsigned source, const char (*uuids)[37], size_t n);

/** Returns a descriptor that is readable when the process of a guest has ended: then call
 * fleet_dispatch_events(). */
int fleet_epoll_fd(const struct fleet *fleet);
void fleet_dispatch_events(struct fleet *fleet);

struct fleet_state {
    size_t guests;
    size_t refused; /* no method can follow them, or there is another obstacle */
    size_t suspended;
    size_t waiting;   /* waiting to be opened: not included in guests */
    double period_s;  /* planned period */
    double share;     /* recent share of one core */
    uint64_t records; /* records so far */
    size_t hanging;   /* scans that hang */
    /* all threads have been seen running recently, except for those whose scan hangs; and not all
     * scans hang */
    bool alive;
};

/** Call it every five seconds: reports scans that hang (@p now_ns by clock_ns()), and starts
 * threads in their place, up to a limit. */
void fleet_relieve(struct fleet *fleet, uint64_t now_ns);

struct fleet_state fleet_state(struct fleet *fleet);
