// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file agents.h  The one thread that polls guests for statistics of their memory, and keeps the
 * last report of each.
 *
 * Once a period it asks libvirt which domains run, and what their balloon drivers tell, and the
 * agent of each domain that has a channel for it; guest/agent/agent_channel.h bounds what one guest
 * can cost, and no guest waits for another. Between two periods it receives stalls, after which it
 * asks at once. Scans of guests never wait for it: they take the last report. It has read-only
 * connections of its own, for libvirt may block, and may leave them: balloon_stats.h.
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
/** A libvirt whose guests are asked, by a connection of the agents' own. */
struct agents_libvirt {
    const char *uri;                 /* NULL: none; it must live on */
    bool (*up)(const void *context); /* does the daemon's own connection to it work? From the
                                        agents' thread; never blocks */
    const void *context;
};

/** Starts the thread; no guest is asked until agents_switch(). 0 or negative.
 * @param scanner  borrowed: connects to the agents */
int agents_start(struct agents **out, struct scanner *scanner, struct error *error);

/** Stalls are kept by that writer from now on, which is borrowed; NULL: they are not. */
void agents_keep_stalls(struct agents *agents, struct writer *writer);

/** Ask at all, and how often? Returns at once. */
void agents_switch(struct agents *agents, bool on, double period_s);

/**
 * What the budget allows: not more often than every @p period_s, and as the ledger has all wait
 * until @p held_until_ns (CLOCK_MONOTONIC; 0: it does not): until then only answers are heard. From
 * any thread; never blocks for long.
 * @return CPU seconds that asking all guests once costs, lately, with all that is heard until they
 * are asked again
 */
double agents_pace(struct agents *agents, double period_s, uint64_t held_until_ns);

/** Guests of @p source (below AGENTS_MAX_SOURCES) are those of @p libvirt. Not wanted: no longer.
 * While it is down they are asked as before. */
void agents_source(struct agents *agents, unsigned source, const struct agents_libvirt *libvirt,
                   bool wanted);

/** A device was plugged into or out of the guest of this UUID: perhaps its channel. From any
 * thread; never blocks for long. */
void agents_plugged(struct agents *agents, const char *uuid);

/** Annotates a record that has just been made with the guest's last report; nothing when guests are
 * not to be asked. From any thread; never blocks for long. */
void agents_annotate(struct agents *agents, struct sample_record *record);

/** The last report of the agent of the guest of this UUID, as of agent_last_report_text(), if it is
 * new and worth keeping: once a minute.
 *  NULL; else the caller frees it. From any thread; never blocks for long. */
char *agents_take_last_report(struct agents *agents, const char *uuid);

/** Begins to end. Returns at once. */
void agents_end(struct agents *agents);

/** After agents_end(): waits for it, but not for libvirt: at most a quarter of a second. */
void agents_wait(struct agents *agents);
