// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file drop.h  Dropping the clean page cache of the whole machine.
 *
 * Not among the parts that serve/ is linked with: the library of these is complete without it, so
 * that the agent cannot come to call it.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

/** Checks that dropping is permitted here. Needs root, and a machine of its own: a container shares
 * the page cache with its host and other containers, which would all pay. Sources: the initial
 * namespaces have fixed inodes (include/linux/proc_ns.h); container managers leave marks in PID 1's
 * environment and in /run (systemd's Container Interface); the root directory is not PID 1's.
 * @return 0; -EACCES or -ENOTSUP with the message */
int drop_allowed(const struct fsroot *root, struct error *error);

/**
 * Writes 1 to /proc/sys/vm/drop_caches (Documentation/admin-guide/sysctl/vm.rst): clean page cache
 * that no process maps. A trigger: nothing has to be restored afterwards. The kernel notes it in
 * its log.
 * @return 0, or a negative errno with the message
 */
int drop_clean_caches(const struct fsroot *root, struct error *error);
