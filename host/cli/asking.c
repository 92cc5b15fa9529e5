// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file asking.c  See asking.h. */
#include "cli/asking.h"

#include "agent/agent_ask.h"
#include "keep/store.h"

#include <math.h>

static void asking_ask(struct asking *asking)
{
    struct agent_event event = {0};

    if (!asking->channel)
        return;
    if (agent_ask(asking->channel, &event, NULL, NULL) < 0)
        guest_tracker_unavailable(&asking->tracker, event.error.text);
    else
        guest_tracker_update(&asking->tracker, agent_channel_hello(asking->channel),
                             &event.message.report, store_clock_now().steady_s);
}

void asking_begin(struct asking *asking, const struct guest *guest)
{
    struct agent_endpoint endpoint;
    struct error error = {0};

    guest_tracker_init(&asking->tracker, "out of memory");
    asking->channel = NULL;
    if (!guest->from_libvirt)
        guest_tracker_unavailable(&asking->tracker, "only libvirt knows the channel of its agent");
    else if (agent_endpoint_choose(&guest->agent_port, &endpoint, &error) < 0)
        guest_tracker_unavailable(&asking->tracker, error.text);
    else
        asking->channel = agent_channel_new(&endpoint, guest->ram.total_bytes);
    asking_ask(asking);
}

void asking_annotate(struct asking *asking, struct sample_record *record)
{
    asking_ask(asking);
    guest_tracker_annotate(&asking->tracker, record, store_clock_now().steady_s, HUGE_VAL);
}

void asking_end(struct asking *asking)
{
    agent_channel_free(asking->channel);
    asking->channel = NULL;
}
