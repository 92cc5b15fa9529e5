// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file said.c  See said.h. */
#include "daemon/said.h"

#include <string.h>

/* Another boot is one, too. */
static bool is_another(const struct agent_hello *one, const struct agent_hello *other)
{
    return strcmp(one->agent, other->agent) != 0 || strcmp(one->kernel, other->kernel) != 0 ||
           strcmp(one->boot_id, other->boot_id) != 0;
}

bool said_answers(struct said *said, const struct agent_hello *hello, uint64_t now_ns)
{
    bool is_news = said->hello_ns == 0 || said->lost || is_another(&said->hello, hello);

    said->answered_ns = now_ns;
    if (!is_news || (said->hello_ns > 0 && now_ns - said->hello_ns < SAID_AGAIN_NS))
        return false;
    said->hello = *hello;
    said->hello_ns = now_ns;
    said->lost = false;
    return true;
}

/* One that lasts is said once: it has not answered since. */
bool said_fault(struct said *said, enum agent_fault fault, uint64_t now_ns)
{
    uint64_t last_ns = said->fault_ns[fault];

    if (last_ns > 0 && (said->answered_ns <= last_ns || now_ns - last_ns < SAID_AGAIN_NS))
        return false;
    said->fault_ns[fault] = now_ns;
    said->lost = true;
    return true;
}

bool said_stall(struct said *said, uint64_t now_ns, uint64_t *unsaid)
{
    if (said->stall_ns > 0 && now_ns - said->stall_ns < SAID_STALL_NS) {
        said->stalls++;
        return false;
    }
    *unsaid = said->stalls;
    said->stalls = 0;
    said->stall_ns = now_ns;
    return true;
}
