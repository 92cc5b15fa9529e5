// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file agent_way.h  The channel to one agent that is asked again and again: for the command line.
 *
 * While there is none, and when the last question failed, the domain's XML is read again before the
 * next: an agent that starts later, that comes back, or whose channel is plugged in, is found. An
 * agent that libvirt says is not there is not asked, and as its channel is closed meanwhile nothing
 * is held against it when it comes back.
 */
#pragma once

#include "guest/agent/agent_channel.h"
#include "guest/domain/domain.h"

/** Zeroed: nothing is known yet. */
struct agent_way {
    struct agent_channel *channel; /* NULL: none yet, or no more, and missing says why */
    struct error missing;          /* code 0: it has answered the last question */
};

/**
 * Looks for the way if need be, and asks as agent_ask().
 * @param domain  name, UUID or id
 * @return 0: event->message.report; else way->missing, whose code it is
 */
int agent_way_ask(struct agent_way *way, struct domain_connection *connection, const char *domain,
                  struct agent_event *event);

/** Takes the way that the domain's XML has: for agent_way_ask(). 0; else way->missing, and there is
 * no channel. */
int agent_way_take(struct agent_way *way, const struct agent_port *port, uint64_t ram_bytes);

void agent_way_end(struct agent_way *way);
