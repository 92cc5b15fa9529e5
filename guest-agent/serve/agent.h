// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file agent.h  The agent's loop: hears questions, answers, and never waits for a host that does
 * not read.
 *
 * If several questions of one kind could not be answered yet, only the newest is, as of the
 * moment at which the host can take the answer: a flood costs one answer for each piece that is
 * read. The wire is wire.h's.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"
#include "proc/stall.h"

#include <stdbool.h>

#define AGENT_TRIGGERS_MAX 8

struct agent; /* opaque */

/** @p root outlives the agent. 0, then *out must be given to agent_free(); or a negative errno with
 * the message. */
int agent_new(struct agent **out, const struct fsroot *root, struct error *error);
void agent_free(struct agent *agent);

/** Talks through @p fd (non-blocking; closed by the agent) from now on; an earlier connection is
 * given up. 0 or a negative errno. */
int agent_attach(struct agent *agent, int fd);

/** Takes connections from @p listener, which the agent closes: one at a time. Another is hung up
 * on, unless nothing was asked through the first for half a minute. 0 or a negative errno. */
int agent_listen(struct agent *agent, int listener);

/**
 * Notifies the host when @p trigger fires, at most about once a second, and not when no host
 * listens. A stall that the host does not take at once is reported, as of then, before any answer.
 * @param fd  what stall_trigger_open() returned, or anything that reports POLLPRI; the agent closes
 *            it
 * @return 0, -E2BIG beyond AGENT_TRIGGERS_MAX, or another negative errno; @p fd remains the
 * caller's then
 */
int agent_watch(struct agent *agent, const struct stall_trigger *trigger, int fd);

/**
 * Measures the guest's own working set from now on, and adds it to each report: see own_set.h, also
 * for the parameters and the result.
 */
int agent_own_set(struct agent *agent, double period_s, void (*complain)(const char *why),
                  struct error *error);

/** Returns true if a host can be reached. False after the device went away, or the connection was
 * closed. */
bool agent_attached(const struct agent *agent);

/** Waits at most @p timeout_ms (-1: for ever) for something to do, and does it. 0 or a negative
 * errno. */
int agent_turn(struct agent *agent, int timeout_ms);
