// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file agent_ask.h  Queries one agent and waits for the answer: for the command line. */
#pragma once

#include "guest/agent/agent_channel.h"

/**
 * Requests a report and waits until it arrives or fails, at most three times WIRE_DEADLINE_MS.
 * While the channel backs off after a failure, it fails at once for the same reason.
 * @param seen called with every fault and stall that comes first; may be NULL
 * @return 0: event->message.report; -EINTR a signal came; else the code of event->error
 */
int agent_ask(struct agent_channel *channel, struct agent_event *event,
              void (*seen)(const struct agent_event *event, void *context), void *context);
