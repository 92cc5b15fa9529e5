// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/agent/agent_way.h"

#include "base/cleanup.h"
#include "guest/agent/agent_ask.h"

#include <errno.h>
#include <string.h>

void agent_way_end(struct agent_way *way)
{
    agent_channel_free(way->channel);
    way->channel = NULL;
}

static int lose(struct agent_way *way)
{
    agent_way_end(way);
    return way->missing.code;
}

int agent_way_take(struct agent_way *way, const struct agent_port *port, uint64_t ram_bytes)
{
    struct agent_endpoint endpoint;

    if (agent_endpoint_choose(port, &endpoint, &way->missing) < 0)
        return lose(way);
    if (endpoint.closed) {
        error_set(&way->missing, -ENOTCONN,
                  "no program in the guest has the port open: is vmwss-guest running there?");
        return lose(way);
    }
    if (!way->channel)
        way->channel = agent_channel_new(&endpoint, ram_bytes);
    else if (!agent_endpoint_same(agent_channel_endpoint(way->channel), &endpoint))
        agent_channel_set_endpoint(way->channel, &endpoint);
    if (!way->channel)
        return error_set(&way->missing, -ENOMEM, "out of memory");
    agent_channel_set_ram(way->channel, ram_bytes);
    return 0;
}

/* An XML that cannot be read changes nothing: an existing channel may be as good as before. */
static int agent_way_read(struct agent_way *way, struct domain_connection *connection,
                          const char *domain)
{
    cleanup_free char *xml = NULL;
    struct domain_description description = {0};
    struct error error = {0};
    int rc = domain_xml_fetch(connection, domain, &xml, &error);

    if (rc == 0)
        rc = domain_xml_parse(xml, strlen(xml), &description, &error);
    if (rc == 0) {
        rc = agent_way_take(way, &description.agent_port, description.ram.total_bytes);
        domain_description_free(&description);
        return rc;
    }
    if (way->channel)
        return 0;
    way->missing = error;
    return rc;
}

int agent_way_ask(struct agent_way *way, struct domain_connection *connection, const char *domain,
                  struct agent_event *event)
{
    int rc = 0;

    if (!way->channel || way->missing.code < 0)
        rc = agent_way_read(way, connection, domain);
    if (rc < 0)
        return rc;
    rc = agent_ask(way->channel, event, NULL, NULL);
    way->missing = rc < 0 ? event->error : (struct error){0};
    return rc;
}
