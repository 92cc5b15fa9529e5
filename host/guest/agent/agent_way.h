// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file agent_way.h  The channel to one agent that is queried repeatedly: for the command line.
 *
 * While there is no channel, and after a failed question, the domain's XML is read again before the
 * next question. So an agent that starts later, or whose channel is plugged later, is found. An
 * agent that is absent according to libvirt is not queried, and its channel is closed, so that past
 * failures do not delay it when it returns.
 */
#pragma once

#include "guest/agent/agent_channel.h"
#include "guest/domain/domain.h"

/** Zeroed: nothing is known yet. */
struct agent_way {
    /* NULL: there is no channel (any more); missing has the reason */
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

/** Takes the endpoint from the domain's XML, for agent_way_ask(). 0; otherwise there is no channel,
 * and way->missing has the reason. */
int agent_way_take(struct agent_way *way, const struct agent_port *port, uint64_t ram_bytes);

void agent_way_end(struct agent_way *way);
