// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file damon_sysfs.h  DAMON's sysfs interface: kdamonds of our own, turned on and off.
 *
 * Source: Documentation/admin-guide/mm/damon/usage.rst; mm/damon/sysfs.c, core.c and vaddr.c of
 * Linux 6.12.
 *
 * There is one configuration for the whole host, and writing nr_kdamonds throws all of it away. So
 * it is taken only while no other process has any (nr_kdamonds is 0, no module that uses DAMON by
 * itself is on), refused otherwise, and given back as it was. Once a process has it, it can have
 * DAMON_SLOTS kdamonds at a time, for several panels or guests.
 *
 * Looking and taking are one step: they happen under the lock of the host named "damon"
 * (run_lock.h), so of two vmwss one gets it; the lock lives as long as the configuration does, for
 * the guardian inherits it. Other tools do not take that lock. Should one write nr_kdamonds while a
 * kdamond of ours is on, the kernel refuses it; while none is, our directories vanish, every
 * further write of ours fails through the open handle of the one that is gone, and what the other
 * made is left alone.
 *
 * After kill -9 a guardian (base/guardian.h) turns the kdamonds off and writes 0 to nr_kdamonds. If
 * it is killed too they stay on, and do next to nothing: a walk over their pages once an hour,
 * until the guest ends or they are turned off. Nothing but the configuration and idle flags
 * (see idle.c) is ever changed.
 *
 * To be called from one thread only.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <sys/types.h>

#define DAMON_SLOTS 8

/**
 * Could DAMON be taken?
 * @return 0; -ENOENT the kernel has none; -EBUSY it is in use: @p why says who, as far as
 *         the kernel tells, and the remedy.
 */
int damon_sysfs_free(const struct fsroot *root, struct error *why);

/** Which of the kernel's modules that use DAMON by themselves is on: damon_stat, damon_reclaim,
 * damon_lru_sort; or NULL. They watch all physical memory, that of guests too
 * (Documentation/admin-guide/mm/damon/reclaim.rst, lru_sort.rst, stat.rst). */
const char *damon_module_on(const struct fsroot *root);

/** How many of them are. */
unsigned damon_modules_on(const struct fsroot *root);

/** Has this process taken it? Then whatever kdamond is on is ours. */
bool damon_sysfs_taken(void);

struct damon_slot; /* one kdamond; opaque */

/**
 * Takes a kdamond, off, that will watch fixed addresses of process @p pid (operations "fvaddr");
 * the first one takes DAMON. Give it back with damon_slot_give_back().
 * @return 0, -ENOENT, -EBUSY, or the kernel's error.
 */
int damon_slot_take(const struct fsroot *root, pid_t pid, struct damon_slot **out,
                    struct error *error);

/**
 * Makes every page that begins at hva[0..n), ascending, a region of its own. While the kdamond is
 * off. Such a region is never split, being a single page, nor merged with a neighbour: two would
 * exceed the limit for a region, the sum of all divided by min_nr_regions, which is the number of
 * them (damon_region_sz_limit()).
 */
int damon_slot_set_pages(struct damon_slot *slot, const uint64_t *hva, uint64_t n,
                         struct error *error);

/**
 * Turns it on, and returns when it has cleared the accessed bits of all of its pages and has gone
 * to sleep, for an hour or until it is turned off. Then it looks at them, tells what it saw
 * (damon_trace.h), and ends: kthread_stop() wakes it, and the loop of kdamond_fn() is left only
 * after that. So a window ends when it shall, not at a tick of DAMON.
 * @param kdamond  its thread
 * @return 0; -ESRCH the process has ended; -EBUSY; or the kernel's error.
 */
int damon_slot_on(struct damon_slot *slot, pid_t *kdamond, struct error *error);

/** Turns it off: it has sampled and reported when this returns. 0 also if it is off already. */
int damon_slot_off(struct damon_slot *slot, struct error *error);

/** Turns it off; the last one gives DAMON back. NULL is allowed. */
void damon_slot_give_back(struct damon_slot *slot);
