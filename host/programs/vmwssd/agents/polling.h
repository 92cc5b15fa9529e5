// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file polling.h  Polling schedule of the agents: when guests are asked next, and what asking them
 * all costs. Pure functions.
 *
 * Asking has no throttle of its own: the fleet's plan (budget.h) has to pay for a round in each
 * period, and says how long that has to be; and while its ledger has scans wait, asking waits as
 * well.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct polling {
    double wanted_s;        /* the period of the configuration */
    double planned_s;       /* what the budget allows; 0: no plan yet */
    uint64_t held_until_ns; /* the ledger has all wait */
    uint64_t began_ns;      /* the last one; 0: none yet */
    double began_cpu_s;     /* the thread's CPU time then */
    double cost_s; /* CPU time of a round and of all that is heard until the next, lately; 0: not
                      known */
};

/** How long a round and the next are apart, but for what the ledger holds up. */
double polling_period_s(const struct polling *polling);

/** When the next begins: a period after the last, and not before the ledger allows it, but for that
 * one period more at most. While the budget is just used up scans of guests would always come
 * first. */
uint64_t polling_due_ns(const struct polling *polling);

/** Returns true while the ledger has all wait. */
bool polling_held(const struct polling *polling, uint64_t now_ns);

/** One begins, at @p cpu_s of the thread's CPU time: the one before has cost what was used
 * since. */
void polling_begin(struct polling *polling, uint64_t now_ns, double cpu_s);

/** When a guest's XML is read for the way to its agent. Zeroed: at once, as for a new
 * guest. */
struct xml_turn {
    unsigned polls; /* until then */
    bool plugged;   /* a device was: by an event of libvirt */
};

/** Once read it is not read again for so many rounds, should what libvirt says have been lost. */
#define XML_AGAIN_POLLS 100

/** How many guests' XML is read in one round, of @p n: a thousand that are new take eight
 * rounds. */
size_t polling_xml_most(size_t n);

/**
 * Returns true if it is read in this round. It is when a device was plugged, and of a guest without
 * a channel in its turn.
 * @param left  how many may be in this round, one less if it is: the others' turn is the next round
 */
bool polling_xml_due(struct xml_turn *turn, bool has_channel, size_t *left);
