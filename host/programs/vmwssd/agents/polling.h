// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file polling.h  Polling schedule of the agents: when guests are asked next, and the cost of
 * asking them all. Pure functions.
 *
 * Asking is not throttled by itself: the fleet's plan (budget.h) has to pay for one round in each
 * period, and determines the length of the period; while the fleet's ledger blocks scans, asking is
 * blocked as well.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct polling {
    double wanted_s;        /* period from the configuration */
    double planned_s;       /* period that the budget allows; 0: no plan yet */
    uint64_t held_until_ns; /* the ledger blocks everything until then */
    uint64_t began_ns;      /* start of the last round; 0: none yet */
    double began_cpu_s;     /* CPU time of the thread at that time */
    /* recent CPU time of a round, including all that is received until the next; 0: not known */
    double cost_s;
};

/** Returns the time between two rounds, except for delays by the ledger. */
double polling_period_s(const struct polling *polling);

/** Returns when the next round begins: a period after the last one, and not before the ledger
 * allows it, but at most one more period later. Otherwise scans of guests would always come first
 * while the budget is just used up. */
uint64_t polling_due_ns(const struct polling *polling);

/** Returns true while the ledger blocks everything. */
bool polling_held(const struct polling *polling, uint64_t now_ns);

/** Begins a round, at @p cpu_s of the thread's CPU time: the CPU time used since the last round is
 * that round's cost. */
void polling_begin(struct polling *polling, uint64_t now_ns, double cpu_s);

/** Schedule for reading a guest's XML, which has the way to its agent. Zeroed: read it at once, as
 * for a new guest. */
struct xml_turn {
    unsigned polls; /* rounds until then */
    bool plugged;   /* a device was plugged, according to an event of libvirt */
};

/** After it was read it is read again after this many rounds, in case an event of libvirt was lost.
 */
#define XML_AGAIN_POLLS 100

/** Returns how many guests' XML is read in one round, of @p n guests: a thousand new guests take
 * eight rounds. */
size_t polling_xml_most(size_t n);

/**
 * Returns true if it is read in this round: if a device was plugged, or, for a guest without a
 * channel, in its turn.
 * @param left how many may still be read in this round; decremented if it
 * returns true: the others wait for the next round
 */
bool polling_xml_due(struct xml_turn *turn, bool has_channel, size_t *left);
