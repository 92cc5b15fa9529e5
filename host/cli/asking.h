// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file asking.h  vmwss measure --agent: the guest's own statistics beside each measurement. */
#pragma once

#include "agent/agent_channel.h"
#include "record/guest_tracker.h"

struct asking {
    struct agent_channel *channel; /* NULL: the guest has none */
    struct guest_tracker tracker;
};

/** Finds the guest's channel, and asks for the first time: rates need two answers. */
void asking_begin(struct asking *asking, const struct guest *guest);

/** Asks again, and puts what it says, or why it says nothing, into the record. Waits for no more
 * than some seconds. */
void asking_annotate(struct asking *asking, struct sample_record *record);

void asking_end(struct asking *asking);
