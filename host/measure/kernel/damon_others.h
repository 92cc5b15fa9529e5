// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file damon_others.h  Does DAMON, of which others have control, watch the memory of a guest?
 *
 * Source: Documentation/admin-guide/mm/damon/usage.rst; mm/damon/sysfs.c and vaddr.c. A kdamond
 * watches the address spaces of processes (operations "vaddr", and "fvaddr" at given addresses) or
 * ranges of the host's memory ("paddr"). It clears the accessed bits of that process's page tables
 * alone, but also sets the idle flags of its pages, so a process that maps guest RAM as well
 * (vhost-user) matters, too. What is read is what was last written there: whether a kdamond that
 * runs has been given it (state "commit") does not show.
 */
#pragma once

#include "guest/ram/target.h"

/** How many kdamonds are on that are not ours, those of modules that use DAMON by themselves among
 * them? */
unsigned damon_others_on(const struct fsroot *root);

/** Is DAMON_STAT, which acts on nothing that it finds, the only one? */
bool damon_only_looks(const struct fsroot *root);

/**
 * Does a kdamond that is on and not ours, or one of the kernel's own modules (damon_module_on()),
 * watch any of it? True where that cannot be told. Of ranges of the host's memory it can be of
 * guests of up to 1 GiB, whose pages are looked up: some 10 ms of CPU time for 1 GiB.
 */
bool damon_watches(const struct target *target);
