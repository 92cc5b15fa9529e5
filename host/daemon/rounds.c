// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file rounds.c  See rounds.h. */
#include "daemon/rounds.h"

#include <math.h>

double rounds_period_s(const struct rounds *rounds)
{
    return fmax(rounds->wanted_s, rounds->planned_s);
}

uint64_t rounds_due_ns(const struct rounds *rounds)
{
    uint64_t period_ns = (uint64_t)(rounds_period_s(rounds) * 1e9);
    uint64_t due_ns = rounds->began_ns + period_ns;

    if (rounds->began_ns == 0)
        return 0;
    if (due_ns >= rounds->held_until_ns)
        return due_ns;
    return rounds->held_until_ns < due_ns + period_ns ? rounds->held_until_ns : due_ns + period_ns;
}

bool rounds_held(const struct rounds *rounds, uint64_t now_ns)
{
    return now_ns < rounds->held_until_ns;
}

void rounds_begin(struct rounds *rounds, uint64_t now_ns, double cpu_s)
{
    if (rounds->began_ns > 0) {
        double cost_s = cpu_s - rounds->began_cpu_s;

        rounds->cost_s = rounds->cost_s > 0 ? (rounds->cost_s + cost_s) / 2 : cost_s;
    }
    rounds->began_ns = now_ns;
    rounds->began_cpu_s = cpu_s;
}

size_t rounds_xml_most(size_t n)
{
    return 32 + n / 10;
}

bool rounds_xml_due(struct xml_turn *turn, bool has_channel, size_t *left)
{
    if (turn->rounds > 0)
        turn->rounds--;
    if (!turn->plugged && (has_channel || turn->rounds > 0))
        return false;
    if (*left == 0)
        return false;
    (*left)--;
    *turn = (struct xml_turn){.rounds = XML_AGAIN_ROUNDS};
    return true;
}
