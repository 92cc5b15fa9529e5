// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file asking.h  vmwss measure --agent: the guest's own statistics beside each measurement. */
#pragma once

#include "guest/agent/agent_channel.h"
#include "measure/record/guest_tracker.h"

#include <stdbool.h>

struct asking {
    struct agent_channel *channel; /* NULL: the guest has none */
    struct guest_tracker tracker;
    bool held;         /* another program has the channel, or no agent has the guest's port open */
    char instead[256]; /* whose statistics they are that the last record has, how old, and why; "":
                          the guest was asked */
};

/** Finds the guest's channel, and asks for the first time: rates need two answers. */
void asking_begin(struct asking *asking, const struct guest *guest);

/** Asks again, and puts what it says into the record; where another program has the channel,
 * for QEMU serves one at a time, what vmwssd has of it, if that is of its last period; or why there
 * is nothing. Waits for no more than
 * some seconds. */
void asking_annotate(struct asking *asking, struct sample_record *record);

void asking_end(struct asking *asking);
