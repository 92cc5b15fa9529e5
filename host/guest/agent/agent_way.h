// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file agent_way.h  The channel to one agent that is queried repeatedly: for the command line.
 *
 * While there is no channel, and after a failed question, the domain's XML is read again before the
 * next question: so an agent that starts later, that comes back, or whose channel is plugged in, is
 * found. An agent that is absent according to libvirt is not queried. Its channel is closed
 * meanwhile, so no past failure delays it when it comes back.
 */
#pragma once

#include "guest/agent/agent_channel.h"
#include "guest/domain/domain.h"

/** Zeroed: nothing is known yet. */
struct agent_way {
    /* NULL: no channel yet, or no longer, and missing has the reason */
    struct agent_channel *channel;
    struct error missing; /* code 0: it has answered the last question */
};

/**
 * Finds the endpoint if necessary, and queries as agent_ask().
 * @param domain  name, UUID or id
 * @return 0: event->message.report; else the code of way->missing
 */
int agent_way_ask(struct agent_way *way, struct domain_connection *connection, const char *domain,
                  struct agent_event *event);

/** Takes the endpoint from the domain's XML: for agent_way_ask(). 0; else way->missing is set, and
 * there is no channel. */
int agent_way_take(struct agent_way *way, const struct agent_port *port, uint64_t ram_bytes);

void agent_way_end(struct agent_way *way);
