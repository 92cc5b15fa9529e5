// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file log_limit.h  Rate limit of what is logged of one guest's agent. Pure functions.
 *
 * How often something happens is up to the guest; how often it is logged is not: an agent that
 * answers, fails, and answers again, however fast, has every hour at most one line for each kind of
 * fault and one that it answers, and a line a minute for stalls. What the limit suppressed is
 * logged when the time has come, if it still holds.
 */
#pragma once

#include "guest/agent/agent_channel.h"

#include <stdbool.h>
#include <stdint.h>

#define LOG_LIMIT_AGAIN_NS 3600000000000ULL
#define LOG_LIMIT_STALL_NS 60000000000ULL

/** Of one run of a guest. Zeroed: nothing. Times are CLOCK_MONOTONIC, 0: never. */
struct log_limit {
    struct agent_hello hello; /* of the answer that was logged last */
    uint64_t hello_ns;        /* when */
    bool lost;                /* a fault was logged since */
    uint64_t answered_ns;     /* last */
    uint64_t fault_ns[AGENT_FAULTS];
    uint64_t stall_ns, stalls; /* suppressed since */
};

/** Returns true if this answer should be logged: the first one; and an hour after the last one that
 * was, if it is of another agent or kernel, or a fault was logged since. */
bool log_limit_answer(struct log_limit *limit, const struct agent_hello *hello, uint64_t now_ns);

/** Returns true if this fault should be logged: the first of its kind, and an hour later one of an
 * agent that has answered meanwhile. */
bool log_limit_fault(struct log_limit *limit, enum agent_fault fault, uint64_t now_ns);

/** Returns true if this stall should be logged: at most one a minute. @p suppressed: how many were
 * not, since the last that was. */
bool log_limit_stall(struct log_limit *limit, uint64_t now_ns, uint64_t *suppressed);
