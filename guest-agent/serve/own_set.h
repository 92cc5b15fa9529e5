// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file own_set.h  The guest's own working set, again and again, beside an agent that answers
 * meanwhile.
 *
 * Each round (own_round.h) is a child, which sleeps through its window and ends with us, however we
 * end. It is killed when it is late, and the next one waits until all of them took no more than
 * OWN_SET_CPU of a CPU.
 *
 * What it disturbs: reclaim in this guest goes by the bits that are cleared, and takes pages for
 * unused that are not.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <jansson.h>

#define OWN_SET_CPU (1 / 200.0)
#define OWN_SET_LATE_S 30

struct own_set; /* opaque */

/**
 * Begins with the first own_set_turn().
 * @param root      outlives it
 * @param period_s  the window of a round, and the time from one to the next, if they cost little
 *                  enough
 * @param late_s    how much longer than its window a round may take: OWN_SET_LATE_S
 * @param complain  is called with why a round failed, once, until one succeeds
 * @return 0; -ENOTSUP with the message when this kernel cannot; -ENOMEM
 */
int own_set_new(struct own_set **out, const struct fsroot *root, double period_s, double late_s,
                void (*complain)(const char *why), struct error *error);

/** Ends the child, if there is one. NULL is no set. */
void own_set_free(struct own_set *own);

/** Does what is due, and never waits. True when own_set_fd() is another one now. */
bool own_set_turn(struct own_set *own);

/** Readable when there is something to do; -1: no child now. */
int own_set_fd(const struct own_set *own);

/** How long to wait at most before there is work; -1: until own_set_fd() is readable. */
int own_set_wait_ms(const struct own_set *own);

/** Adds "working_set" to a report, and puts the processes of the last round into it, which have
 * "referenced_bytes"; false when the report has no processes yet: there was no round, or it is
 * older than two periods. */
bool own_set_add(const struct own_set *own, json_t *report);
