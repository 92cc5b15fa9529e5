// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file agent.h  The agent's loop: it receives questions, answers them, and never waits for a host
 * that does not read.
 *
 * If several questions of one kind are pending, only the newest is answered, with data of the
 * moment when the host can take the answer. So a flood of questions costs one answer for each block
 * of input. The protocol is in wire.h.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"
#include "proc/stall.h"

#include <stdbool.h>

#define AGENT_TRIGGERS_MAX 8

struct agent; /* opaque */

/** Makes an agent; @p root must outlive it. 0, then call agent_free(); or a negative errno with the
 * message. */
int agent_new(struct agent **out, const struct fsroot *root, struct error *error);
void agent_free(struct agent *agent);

/** Uses @p fd (non-blocking; the agent closes it) from now on, and closes an earlier connection. 0
 * or a negative errno. */
int agent_attach(struct agent *agent, int fd);

/** Accepts one connection at a time from @p listener, which the agent closes. A further connection
 * is closed, unless the first one has sent no question for half a minute. 0 or a negative errno. */
int agent_listen(struct agent *agent, int listener);

/**
 * Notifies the host when @p trigger fires, at most about once a second, and only while a host is
 * connected. A stall that the host does not take at once is sent later, with its own data, before
 * any answer.
 * @param fd  from stall_trigger_open(), or another one that reports POLLPRI; the agent closes it
 * @return 0, -E2BIG beyond AGENT_TRIGGERS_MAX, or another negative errno; after an error the caller
 *         still owns @p fd
 */
int agent_watch(struct agent *agent, const struct stall_trigger *trigger, int fd);

/**
 * Measures the guest's own working set from now on, and adds it to each report. own_set.h describes
 * the parameters and the result.
 */
int agent_own_set(struct agent *agent, double period_s, void (*complain)(const char *why),
                  struct error *error);

/** Returns true if a host can be reached; false after the device vanished or the connection was
 * closed. */
bool agent_attached(const struct agent *agent);

/** Waits at most @p timeout_ms (-1: for ever) for events, and handles them. 0 or a negative
 * errno. */
int agent_turn(struct agent *agent, int timeout_ms);
