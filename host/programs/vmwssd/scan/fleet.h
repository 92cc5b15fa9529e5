// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file fleet.h  All guests that are watched, and the threads that scan them at their deadlines.
 *
 * Connections say which guests there are; nothing here speaks to libvirt. A guest is identified by
 * its QEMU process, so its panel survives a libvirtd restart. A guest that takes long holds up one
 * of two threads, and none of the other guests that the second has time for; one that hangs gets
 * another thread in its place.
 */
#pragma once

#include "guest/domain/domain.h"
#include "programs/vmwssd/agents/agents.h"
#include "programs/vmwssd/config/config.h"
#include "programs/vmwssd/scanner/scanner.h"
#include "programs/vmwssd/sinks/publisher.h"
#include "programs/vmwssd/sinks/writer.h"

struct fleet; /* opaque */

/** The scanner that makes the records, the agents that add to them, and the sinks that take them.
 * Borrowed. */
struct fleet_sinks {
    struct scanner *scanner;
    struct writer *writer; /* NULL when no history is kept */
    struct publisher *publisher;
    struct agents *agents;
};

/** Borrows @p root; copies @p config. */
int fleet_start(struct fleet **out, const struct fsroot *root, const struct config *config,
                const struct fleet_sinks *sinks, struct error *error);

/** Ends the threads, which restore all guests; what connections say from then on is ignored. It is
 * not freed, for a thread that waits for libvirt may speak as long as the process lives. NULL is
 * allowed. */
void fleet_stop(struct fleet *fleet);

/** Another configuration: panels that it does not fit begin anew. */
void fleet_configure(struct fleet *fleet, const struct config *config);

/** Returns true if the guest of this UUID is watched, as this very process. False if it was
 * found as a process and is now reported by libvirt, which knows more. If it is @p source's, notes
 * whether it is suspended: where it has just been migrated from it is paused, and the process that
 * is found by its UUID is the one that runs elsewhere. */
bool fleet_note(struct fleet *fleet, unsigned source, const char *uuid, pid_t pid,
                uint64_t start_ticks, bool suspended);

/** Returns true if this very process is watched, whichever source found it. */
bool fleet_watches(struct fleet *fleet, pid_t pid, uint64_t start_ticks);

/** Returns true if a guest of this UUID is watched; with @p of_libvirt, one that libvirt
 * reported. */
bool fleet_has(struct fleet *fleet, const char *uuid, bool of_libvirt);

/** How many guests of other sources wait to be opened. */
size_t fleet_waiting_elsewhere(struct fleet *fleet, unsigned source);

/** Notes whether the guest of this UUID that @p source reported is suspended, of one whose process
 * is not known now. */
void fleet_note_moving(struct fleet *fleet, unsigned source, const char *uuid, bool suspended);

/** A job (enum sample_flag) goes on in the guest of this UUID, or has just ended: its records say
 * so for as long as a window reaches back to it. Of @p source, as below. */
void fleet_note_job(struct fleet *fleet, unsigned source, const char *uuid, unsigned flags);

/** The guest of this UUID, watched or not, came from elsewhere or went there: its history says so.
 */
void fleet_note_move(struct fleet *fleet, const char *uuid, enum event_kind kind);

/** Checks the threads of a few guests for such jobs, which may begin and end between two scans; to
 * be called every FLEET_JOBS_MS. Each time others, no more than the budget allows. */
void fleet_find_jobs(struct fleet *fleet);

#define FLEET_JOBS_MS 500

/** Watches a guest that the scanner has open, which belongs to the fleet from here on; @p source
 * reported it. A guest of the same UUID from this source, and any of the same process, is let go.
 */
void fleet_add(struct fleet *fleet, unsigned source, struct scan_guest_ref *opened);

/** The scanner that its guests are opened by. */
struct scanner *fleet_scanner(const struct fleet *fleet);

/**
 * @p n guests of @p source wait to be opened; 0: none any more. How many seconds none of them must
 * be, for the budget's sake; 0: one may be now.
 * @param last_ns  when one was opened last; 0: not yet
 */
double fleet_wait_to_open(struct fleet *fleet, unsigned source, size_t n, uint64_t last_ns);

/** A device was plugged into or out of the guest of this UUID: it is let go, unless its RAM is made
 * of the same as when it was added (@p xml: as its live XML says now; it is refined); and perhaps
 * there is another way to its agent. Of @p source, as below. */
void fleet_plugged(struct fleet *fleet, unsigned source, const char *uuid, struct ram_config *xml);

/** Lets the guest of this UUID go, if @p source reported it: after a migration from one libvirtd of
 * this machine to another, the first no longer knows the guest that the second has. */
void fleet_remove(struct fleet *fleet, unsigned source, const char *uuid);

/** Lets go the guests of @p source that are not among @p n UUIDs. */
void fleet_keep_only(struct fleet *fleet, unsigned source, const char (*uuids)[37], size_t n);

/** Readable when the process of a guest has ended: fleet_dispatch_events() then. */
int fleet_epoll_fd(const struct fleet *fleet);
void fleet_dispatch_events(struct fleet *fleet);

struct fleet_state {
    size_t guests;
    size_t refused; /* no method can follow them, or something else is in the way */
    size_t suspended;
    size_t waiting;   /* to be opened: not among the guests */
    double period_s;  /* planned */
    double share;     /* of one core, lately */
    uint64_t records; /* so far */
    size_t hanging;   /* looks that do not end */
    bool alive; /* all threads have shown themselves lately, but for those whose scan hangs; not all
                   do */
};

/** To be called every five seconds: says which scans hang (@p now_ns by clock_ns()), and starts
 * threads in their place, as long as there are not too many. */
void fleet_relieve(struct fleet *fleet, uint64_t now_ns);

struct fleet_state fleet_state(struct fleet *fleet);
