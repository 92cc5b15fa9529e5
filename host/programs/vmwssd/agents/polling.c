// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwssd/agents/polling.h"

#include <math.h>

double polling_period_s(const struct polling *polling)
{
    return fmax(polling->wanted_s, polling->planned_s);
}

uint64_t polling_due_ns(const struct polling *polling)
{
    uint64_t period_ns = (uint64_t)(polling_period_s(polling) * 1e9);
    uint64_t due_ns = polling->began_ns + period_ns;

    if (polling->began_ns == 0)
        return 0;
    if (due_ns >= polling->held_until_ns)
        return due_ns;
    return polling->held_until_ns < due_ns + period_ns ? polling->held_until_ns
                                                       : due_ns + period_ns;
}

bool polling_held(const struct polling *polling, uint64_t now_ns)
{
    return now_ns < polling->held_until_ns;
}

void polling_begin(struct polling *polling, uint64_t now_ns, double cpu_s)
{
    if (polling->began_ns > 0) {
        double cost_s = cpu_s - polling->began_cpu_s;

        polling->cost_s = polling->cost_s > 0 ? (polling->cost_s + cost_s) / 2 : cost_s;
    }
    polling->began_ns = now_ns;
    polling->began_cpu_s = cpu_s;
}

size_t polling_xml_most(size_t n)
{
    return 32 + n / 10;
}

bool polling_xml_due(struct xml_turn *turn, bool has_channel, size_t *left)
{
    if (turn->polls > 0)
        turn->polls--;
    if (!turn->plugged && (has_channel || turn->polls > 0))
        return false;
    if (*left == 0)
        return false;
    (*left)--;
    *turn = (struct xml_turn){.polls = XML_AGAIN_POLLS};
    return true;
}
