// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file damon_others.h Finds out whether other programs let DAMON watch a guest's memory.
 *
 * Source: Documentation/admin-guide/mm/damon/usage.rst; mm/damon/sysfs.c and vaddr.c. A kdamond
 * watches the address spaces of processes (operations "vaddr", and "fvaddr" at given addresses) or
 * ranges of the host's memory ("paddr"). It clears the accessed bits of that process's page tables
 * alone, but also sets the idle flags of its pages, so another process that maps guest RAM
 * (vhost-user) matters, too. The files show the configuration that was written last; they do not
 * show whether a running kdamond has received it (state "commit").
 */
#pragma once

#include "guest/ram/target.h"

/** Counts the running kdamonds of other users, including those of kernel modules that run DAMON by
 * themselves. */
unsigned damon_others_on(const struct fsroot *root);

/** Returns true if only DAMON_STAT is on, which takes no action on its findings. */
bool damon_only_looks(const struct fsroot *root);

/**
 * Returns true if any guest RAM is watched by another user's running kdamond, or by one of the
 * kernel's own modules (damon_module_on()); also true if this cannot be determined. Ranges of the
 * host's memory are compared with the guest's frames if the guest has at most 1 GiB; that takes
 * some 10 ms of CPU time for 1 GiB.
 */
bool damon_watches(const struct target *target);
