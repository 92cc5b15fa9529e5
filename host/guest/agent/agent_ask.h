// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file agent_ask.h  Asks one agent and waits for it: for the command line. */
#pragma once

#include "guest/agent/agent_channel.h"

/**
 * Asks for a report and waits until it came or failed, at most three times WIRE_DEADLINE_MS. So
 * soon after a failure that it is not asked again, it fails at once for the same reason.
 * @param seen  is called with every fault and stall on the way; may be NULL
 * @return 0: event->message.report; -EINTR a signal came; else event->error, whose code it is
 */
int agent_ask(struct agent_channel *channel, struct agent_event *event,
              void (*seen)(const struct agent_event *event, void *context), void *context);
