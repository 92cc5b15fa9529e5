// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file own_set.h  Measures the guest's own working set repeatedly while the agent answers.
 *
 * Each round (own_round.h) runs in a child, which sleeps during its window, and ends when we end or
 * are killed. A late child is killed. The next round waits until all rounds together use at most
 * OWN_SET_CPU of a CPU.
 *
 * It disturbs reclaim in the guest, which uses the cleared bits and so takes some used pages for
 * unused.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <jansson.h>

#define OWN_SET_CPU (1 / 200.0)
#define OWN_SET_LATE_S 30

struct own_set; /* opaque */

/**
 * Makes an own set; the first round begins with the first own_set_turn().
 * @param root      must outlive it
 * @param period_s  the window of a round, and the interval between rounds if they are cheap enough
 * @param late_s    how much longer than its window a round may take: OWN_SET_LATE_S
 * @param complain  called with the reason when a round fails, once until a round succeeds
 * @return 0; -ENOTSUP with the message if this kernel cannot; -ENOMEM
 */
int own_set_new(struct own_set **out, const struct fsroot *root, double period_s, double late_s,
                void (*complain)(const char *why), struct error *error);

/** Ends the child, if there is one. NULL is allowed. */
void own_set_free(struct own_set *own);

/** Handles what is due, without waiting. Returns true if own_set_fd() has changed. */
bool own_set_turn(struct own_set *own);

/** A descriptor that is readable when there is something to do; -1: there is no child now. */
int own_set_fd(const struct own_set *own);

/** The maximum time to wait before own_set_turn(); -1: until own_set_fd() is readable. */
int own_set_wait_ms(const struct own_set *own);

/** Adds "working_set" to a report, and the processes of the last round, with their
 * "referenced_bytes". Returns false if there are no processes to add, because no
 * round has ended, or the last one is older than two periods. */
bool own_set_add(const struct own_set *own, json_t *report);
