// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file damon_sysfs.h  DAMON's sysfs interface: kdamonds of our own, turned on and off.
 *
 * Source: Documentation/admin-guide/mm/damon/usage.rst; mm/damon/sysfs.c, core.c and vaddr.c of
 * Linux 6.12.
 *
 * There is one configuration for the whole host, and writing nr_kdamonds deletes it. So DAMON is
 * taken only while it has no other user (nr_kdamonds is 0, and no kernel module that runs DAMON by
 * itself is on), and given back as it was. A process that has taken it can use up to DAMON_SLOTS
 * kdamonds at a time, for several panels or guests.
 *
 * Checking and taking are one step: both happen under the host's lock named "damon" (run_lock.h),
 * so only one of two vmwss processes gets DAMON. The lock lives as long as the configuration does,
 * because the guardian inherits it. Other tools do not take that lock. If another tool writes
 * nr_kdamonds while one of our kdamonds is on, the kernel refuses it. While all of them are off,
 * our directories vanish, further writes through our handle of the removed directory fail, and the
 * other tool's configuration is not changed.
 *
 * After kill -9 a guardian (base/guardian.h) turns the kdamonds off and writes 0 to nr_kdamonds. If
 * the guardian is killed too, the kdamonds stay on, but only walk their pages once an hour, until
 * the guest ends or they are turned off. Nothing but the configuration and idle flags (see idle.c)
 * is ever changed.
 *
 * Call these functions from one thread only.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <sys/types.h>

#define DAMON_SLOTS 8

/**
 * Checks whether DAMON could be taken.
 * @return 0; -ENOENT the kernel has no DAMON; -EBUSY it is in use: @p why names the user, as far as
 *         the kernel shows it, and the remedy.
 */
int damon_sysfs_free(const struct fsroot *root, struct error *why);

/** The name of a kernel module that is on and runs DAMON by itself: damon_stat, damon_reclaim or
 * damon_lru_sort; or NULL. They watch all physical memory, including that of guests
 * (Documentation/admin-guide/mm/damon/reclaim.rst, lru_sort.rst, stat.rst). */
const char *damon_module_on(const struct fsroot *root);

/** The number of these modules that are on. */
unsigned damon_modules_on(const struct fsroot *root);

/** Returns true if this process has taken DAMON. Then every running kdamond is its own. */
bool damon_sysfs_taken(void);

struct damon_slot; /* one kdamond; opaque */

/**
 * Takes a kdamond, still off, to watch fixed addresses of process @p pid (operations "fvaddr"). The
 * first call takes DAMON. Give it back with damon_slot_give_back().
 * @return 0, -ENOENT, -EBUSY, or the kernel's error.
 */
int damon_slot_take(const struct fsroot *root, pid_t pid, struct damon_slot **out,
                    struct error *error);

/**
 * Makes each page at hva[0..n), ascending, one region; the kdamond must be off. A region of one
 * page is never split. It is never merged with a neighbour either: two pages would exceed the size
 * limit of a region, which is the total size divided by min_nr_regions, here the number of regions
 * (damon_region_sz_limit()).
 */
int damon_slot_set_pages(struct damon_slot *slot, const uint64_t *hva, uint64_t n,
                         struct error *error);

/**
 * Turns the kdamond on, and returns when it has cleared the accessed bits of all of its pages and
 * has gone to sleep, for an hour or until it is turned off. When it is turned off, it samples its
 * pages, reports its findings (damon_trace.h), and ends: kthread_stop() wakes it, and it finishes
 * this round before it leaves the loop of kdamond_fn(). So a window can end at any moment, not only
 * at a tick of DAMON.
 * @param kdamond  its thread
 * @return 0; -ESRCH the process has ended; -EBUSY; or the kernel's error.
 */
int damon_slot_on(struct damon_slot *slot, pid_t *kdamond, struct error *error);

/** Turns the kdamond off; when this returns, it has sampled and reported. Also 0 if it is off
 * already. */
int damon_slot_off(struct damon_slot *slot, struct error *error);

/** Turns the kdamond off; when the last slot is given back, so is DAMON. NULL is allowed. */
void damon_slot_give_back(struct damon_slot *slot);
