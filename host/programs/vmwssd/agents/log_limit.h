// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file log_limit.h  Rate limit for log messages about one guest's agent. Pure functions.
 *
 * The guest controls how often something happens, but not how often it is logged: an agent that
 * answers, fails, and answers again, however fast, causes in each hour at most one line for each
 * kind of fault and one for an answer, and one line a minute for stalls. A suppressed message is
 * logged when its time has come, if it still applies.
 */
#pragma once

#include "guest/agent/agent_channel.h"

#include <stdbool.h>
#include <stdint.h>

#define LOG_LIMIT_AGAIN_NS 3600000000000ULL
#define LOG_LIMIT_STALL_NS 60000000000ULL

/** State for one run of a guest. Zeroed: nothing was logged. Times are CLOCK_MONOTONIC, 0: never.
 */
struct log_limit {
    struct agent_hello hello; /* the answer that was logged last */
    uint64_t hello_ns;        /* time of that log message */
    bool lost;                /* a fault was logged since then */
    uint64_t answered_ns;     /* time of the last answer */
    uint64_t fault_ns[AGENT_FAULTS];
    uint64_t stall_ns, stalls; /* time of the last logged stall, and stalls suppressed since */
};

/** Returns true if this answer should be logged: the first one; and one at least an hour after the
 * last logged answer, if it is from another agent or kernel, or if a fault was logged since. */
bool log_limit_answer(struct log_limit *limit, const struct agent_hello *hello, uint64_t now_ns);

/** Returns true if this fault should be logged: the first of its kind, and one at least an hour
 * later if the agent has answered meanwhile. */
bool log_limit_fault(struct log_limit *limit, enum agent_fault fault, uint64_t now_ns);

/** Returns true if this stall should be logged: at most one a minute. @p suppressed: number of
 * stalls not logged since the last logged one. */
bool log_limit_stall(struct log_limit *limit, uint64_t now_ns, uint64_t *suppressed);
