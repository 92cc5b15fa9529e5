// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file asking.h  vmwss measure --agent: the guest's own statistics beside each measurement. */
#pragma once

#include "guest/agent/agent_channel.h"
#include "measure/record/guest_tracker.h"

#include <stdbool.h>

struct asking {
    struct agent_channel *channel; /* NULL: the guest has none */
    struct guest_tracker tracker;
    /* another program holds the channel, or no agent has opened the guest's port */
    bool held;
    /* which statistics the last record has instead, their age, and the reason; "": the guest was
     * asked */
    char instead[256];
};

/** Finds the guest's channel, and sends the first request: rates need two answers. */
void asking_begin(struct asking *asking, const struct guest *guest);

/** Asks again, and puts the answer into the record. If another program holds the channel (QEMU
 * serves one at a time), it uses vmwssd's last report, if that is from its last period; otherwise
 * it notes the reason. Waits at most some seconds. */
void asking_annotate(struct asking *asking, struct sample_record *record);

void asking_end(struct asking *asking);
