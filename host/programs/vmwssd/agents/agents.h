// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file agents.h  The one thread that polls guests for statistics of their memory, and keeps the
 * last report of each.
 *
 * Once a period it asks libvirt for the running domains and their balloon statistics, and the agent
 * of each domain that has a channel for it; guest/agent/agent_channel.h limits the cost of one
 * guest, and no guest waits for another. Between two periods it receives stalls, after which it
 * asks at once. Scans of guests never wait for it: they take the last report. It has its own
 * read-only connections, because libvirt may block, and it may abandon them: balloon_stats.h.
 *
 * While it holds a guest's channel, QEMU serves no other client there.
 */
#pragma once

#include "base/error.h"
#include "measure/record/sample_record.h"
#include "programs/vmwssd/scanner/scanner.h"
#include "programs/vmwssd/sinks/writer.h"

#define AGENTS_MAX_SOURCES 64

struct agents; /* opaque */
/** A libvirt whose guests are asked, through the agents' own connection. */
struct agents_libvirt {
    const char *uri; /* NULL: none; it must stay valid */
    /* returns true if the daemon's own connection to it works; called from the agents' thread;
     * never blocks */
    bool (*up)(const void *context);
    const void *context;
};

/** Starts the thread; no guest is asked until agents_switch(). 0 or negative.
 * @param scanner  borrowed; it connects to the agents */
int agents_start(struct agents **out, struct scanner *scanner, struct error *error);

/** Stores stalls through that writer from now on, which is borrowed; NULL: stalls are not stored.
 */
void agents_keep_stalls(struct agents *agents, struct writer *writer);

/** Sets whether and how often guests are asked. Returns at once. */
void agents_switch(struct agents *agents, bool on, double period_s);

/**
 * Sets the limits of the budget: ask at most once every @p period_s, and not before @p
 * held_until_ns, while the ledger blocks everything (CLOCK_MONOTONIC; 0: it does not): until then
 * only answers are received. From any thread; never blocks for long.
 * @return CPU seconds that
 * asking all guests once has cost recently, including all that is received until they are asked
 * again
 */
double agents_pace(struct agents *agents, double period_s, uint64_t held_until_ns);

/** Assigns the guests of @p source (below AGENTS_MAX_SOURCES) to @p libvirt. Not wanted: ends this.
 * While libvirt is down its guests are asked as before. */
void agents_source(struct agents *agents, unsigned source, const struct agents_libvirt *libvirt,
                   bool wanted);

/** Notes that a device, perhaps its channel, was plugged into or out of the guest with this UUID.
 * From any thread; never blocks for long. */
void agents_plugged(struct agents *agents, const char *uuid);

/** Annotates a record that has just been made with the guest's last report; does nothing if guests
 * are not asked. From any thread; never blocks for long. */
void agents_annotate(struct agents *agents, struct sample_record *record);

/** Returns the last report of the agent of the guest with this UUID, as agent_last_report_text()
 * makes it, if it is new and due to be stored, once a minute; otherwise NULL. The caller frees it.
 * From any thread; never blocks for long. */
char *agents_take_last_report(struct agents *agents, const char *uuid);

/** Starts to end the thread. Returns at once. */
void agents_end(struct agents *agents);

/** Call it after agents_end(): waits for the thread, but not for libvirt: at most a quarter of a
 * second. */
void agents_wait(struct agents *agents);
