// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file asking.c  See asking.h. */
#include "cli/asking.h"

#include "agent/agent_ask.h"
#include "keep/store.h"

#include <math.h>

static void ask(struct asking *asking)
{
    struct agent_event event = {0};

    if (!asking->channel)
        return;
    if (agent_ask(asking->channel, &event, NULL, NULL) < 0)
        word_follower_miss(&asking->follower, event.error.text);
    else
        word_follower_hear(&asking->follower, agent_channel_hello(asking->channel),
                           &event.message.report, store_clock_now().steady_s);
}

void asking_begin(struct asking *asking, const struct guest *guest)
{
    struct agent_endpoint endpoint;
    struct error error = {0};

    word_follower_init(&asking->follower, "out of memory");
    asking->channel = NULL;
    if (!guest->from_libvirt)
        word_follower_miss(&asking->follower, "only libvirt knows the channel of its agent");
    else if (agent_endpoint_choose(&guest->agent_port, &endpoint, &error) < 0)
        word_follower_miss(&asking->follower, error.text);
    else
        asking->channel = agent_channel_new(&endpoint, guest->ram.total_bytes);
    ask(asking);
}

void asking_tell(struct asking *asking, struct sample_record *record)
{
    ask(asking);
    word_follower_tell(&asking->follower, record, store_clock_now().steady_s, HUGE_VAL);
}

void asking_end(struct asking *asking)
{
    agent_channel_free(asking->channel);
    asking->channel = NULL;
}
