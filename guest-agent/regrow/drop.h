// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file drop.h  Drops the clean page cache of the whole machine.
 *
 * It is not in the library that serve/ links, so that the agent cannot call it.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

/** Checks that dropping is permitted here. It needs root outside of containers: a container shares
 * the page cache with its host and other containers. A container is recognised by namespaces other
 * than the initial ones, whose inodes are fixed (include/linux/proc_ns.h); by marks of container
 * managers in PID 1's environment and in /run (systemd's Container Interface); and by another root
 * directory than PID 1's.
 * @return 0; -EACCES or -ENOTSUP with the message */
int drop_allowed(const struct fsroot *root, struct error *error);

/**
 * Writes 1 to /proc/sys/vm/drop_caches (Documentation/admin-guide/sysctl/vm.rst): drops clean page
 * cache that no process maps. Nothing has to be restored afterwards. The kernel logs it.
 * @return 0, or a negative errno with the message
 */
int drop_clean_caches(const struct fsroot *root, struct error *error);
