/* SPDX-License-Identifier: LGPL-2.1-or-later */
/** @file spin.h  The steady state, and everything it needs, in one page. */
#ifndef VMWSS_SPIN_H
#define VMWSS_SPIN_H

#include "params.h"

/** "VMWSSPLD" in memory: how a host test that reads the state's page knows it. */
#define STATE_MAGIC UINT64_C(0x444c505353574d56)
#define MAX_RANGES 8

/** Guest RAM that the region uses: pages first_page.. of the region lie at GPA gpa.. */
struct range {
    uint64_t gpa;
    uint64_t first_page;
    uint64_t end_page;
};

/** Begins its page; the rest of that page is the stack. The first fields are for host tests. */
struct state {
    uint64_t magic;
    uint64_t loops;     /**< finished passes over the hot set */
    uint64_t hot_pages; /**< of the present phase */
    uint64_t phase;     /**< phases begun, 0 for the first */
    uint64_t clock_hz;  /**< of the time stamp counter, measured once */
    struct range ranges[MAX_RANGES];
    struct params params;
};

/** Where page number page of the region lies; each page's word is in another cache line. */
static inline volatile uint64_t *state_word(const struct state *state, uint64_t page)
{
    const struct range *range = state->ranges;

    while (page >= range->end_page)
        range++;
    return (volatile uint64_t *)(range->gpa + (page - range->first_page) * PARAMS_PAGE_SIZE +
                                 (page % 64) * 64);
}

/** Touches the hot set for ever; halts for ever with idle=yes. */
void spin(struct state *state) __attribute__((noreturn));
/** Calls spin() on a stack in the state's own page. */
void spin_enter(struct state *state) __attribute__((noreturn));

#endif
