// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file giving_back.h  What guests get back while the host has enough. Pure functions.
 *
 * A guest that is shrunk below what it uses well waits or reads again what it dropped, long before
 * it panics, and what was taken for a shortage of the host is not needed once that is over. So
 * while the host is ample, guests get back in steps what they had before our first target, out of
 * what is free above 1.25 times high and the room that is asked for: at once those that wait for
 * memory (a veto for pressure, refaults or their own verdict), in either mode; and, if the policy
 * is lazy and no room is asked for, all others once the host has been ample for ten minutes, twice
 * as long each time that it is short again within an hour of that, up to 160 minutes: on a host
 * that has a load of its own every half hour, a balloon would turn four times an hour. Each step
 * waits for statistics of after the last one. Nothing is taken within an hour of it, as after any
 * growth.
 */
#pragma once

#include "decide/control/control_model.h"

/** Orders the next steps up, of guests that have no order in this decision. @p loose_bytes: free
 * above what an ample host keeps. Call it for each decision after growth. */
void giving_back(const struct control_policy *policy, struct control_host *host,
                 struct control_guest *guests, size_t n, uint64_t loose_bytes);
