// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file resctrl.h  Measures how much of the last-level caches a guest's vCPUs occupy, and how much
 * they load from memory, with a monitoring group of resctrl
 * (Documentation/filesystems/resctrl.rst).
 *
 * The group, "mon_groups/vmwss-cache-PID" below the control group that the vCPU threads are in,
 * holds those threads only. Removing it returns them to their previous group; a guardian does so
 * when this process dies. If both are killed, the next resctrl_group_open() removes the leftover
 * group. A thread in another program's monitoring group stays there. That group is used if it has
 * all vCPUs; otherwise the guest is refused. This program never mounts resctrl.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"
#include "guest/domain/qemu.h"
#include "measure/cache/cpu_caches.h"

struct resctrl_group; /* opaque */

/** Checks that this host can monitor its caches. 0; -ENOTSUP with the missing part and the
 * remedy. */
int resctrl_check(const struct fsroot *root, const struct cpu_facts *facts, struct error *error);

/**
 * Puts the vCPU threads of @p process, which the caller has locked, into a group. Call it from the
 * only thread: it forks a guardian.
 * @return 0, then *out must be given to resctrl_group_close(); -EBUSY: threads are in groups of
 *         other programs; -ENOSPC: there is no free group; -ENOTSUP; with the reason
 */
int resctrl_group_open(const struct fsroot *root, const struct cpu_facts *facts,
                       const struct qemu_process *process, struct resctrl_group **out,
                       struct error *error);

/** Removes the group if it is ours. NULL is allowed. */
void resctrl_group_close(struct resctrl_group *group);

/** Starts the counters: fills the monitored caches of @p seen, with their sizes from @p caches and
 * the leftover lines. -EIO: no cache can be read. */
int resctrl_group_begin(struct resctrl_group *group, const struct cpu_caches *caches,
                        struct cache_seen *seen, struct error *error);

/** Updates the occupied and loaded bytes. Call it often: the kernel can lose counts without
 * reporting it. */
void resctrl_group_sample(struct resctrl_group *group, struct cache_seen *seen);

/** Checks that the group is unchanged, and sets the flags for changes. Call it after the last
 * sample. */
void resctrl_group_end(struct resctrl_group *group, struct cache_seen *seen);
