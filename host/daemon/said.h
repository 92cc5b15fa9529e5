// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file said.h  What the log was told of one guest's agent, and when it is told again. Pure
 * functions.
 *
 * How often something happens is up to the guest; how often it is logged is not: an agent that
 * answers, fails, and answers again, however fast, has every hour at most one line for each kind of
 * fault and one that it answers, and a line a minute for stalls. What is left out for that is said
 * when the time has come, if it still holds.
 */
#pragma once

#include "agent/agent_channel.h"

#include <stdbool.h>
#include <stdint.h>

#define SAID_AGAIN_NS 3600000000000ULL
#define SAID_STALL_NS 60000000000ULL

/** Of one run of a guest. Zeroed: nothing. Times are CLOCK_MONOTONIC, 0: never. */
struct said {
    struct agent_hello hello; /* with which it was said to answer */
    uint64_t hello_ns;        /* when */
    bool lost;                /* a fault was said since */
    uint64_t answered_ns;     /* last */
    uint64_t fault_ns[AGENT_FAULTS];
    uint64_t stall_ns, stalls; /* those that were not said since */
};

/** It has answered: is that to be said? The first time, and when it is another agent or kernel than
 * it was said to be, or a fault was said since, an hour later. */
bool said_answers(struct said *said, const struct agent_hello *hello, uint64_t now_ns);

/** A fault: is it to be said? The first of its kind, and an hour later one of an agent that has
 * answered meanwhile. */
bool said_fault(struct said *said, enum agent_fault fault, uint64_t now_ns);

/** A stall: is it to be said? Not within a minute. @p unsaid: how many were not, since the last
 * that was. */
bool said_stall(struct said *said, uint64_t now_ns, uint64_t *unsaid);
