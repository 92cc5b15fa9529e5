// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwssd/agents/log_limit.h"

#include <string.h>

/* Another boot counts as another agent. */
static bool is_another(const struct agent_hello *one, const struct agent_hello *other)
{
    return strcmp(one->agent, other->agent) != 0 || strcmp(one->kernel, other->kernel) != 0 ||
           strcmp(one->boot_id, other->boot_id) != 0;
}

bool log_limit_answer(struct log_limit *limit, const struct agent_hello *hello, uint64_t now_ns)
{
    bool changed = limit->hello_ns == 0 || limit->lost || is_another(&limit->hello, hello);

    limit->answered_ns = now_ns;
    if (!changed || (limit->hello_ns > 0 && now_ns - limit->hello_ns < LOG_LIMIT_AGAIN_NS))
        return false;
    limit->hello = *hello;
    limit->hello_ns = now_ns;
    limit->lost = false;
    return true;
}

/* A lasting fault is logged once: the agent has not answered since. */
bool log_limit_fault(struct log_limit *limit, enum agent_fault fault, uint64_t now_ns)
{
    uint64_t last_ns = limit->fault_ns[fault];

    if (last_ns > 0 && (limit->answered_ns <= last_ns || now_ns - last_ns < LOG_LIMIT_AGAIN_NS))
        return false;
    limit->fault_ns[fault] = now_ns;
    limit->lost = true;
    return true;
}

bool log_limit_stall(struct log_limit *limit, uint64_t now_ns, uint64_t *suppressed)
{
    if (limit->stall_ns > 0 && now_ns - limit->stall_ns < LOG_LIMIT_STALL_NS) {
        limit->stalls++;
        return false;
    }
    *suppressed = limit->stalls;
    limit->stalls = 0;
    limit->stall_ns = now_ns;
    return true;
}
