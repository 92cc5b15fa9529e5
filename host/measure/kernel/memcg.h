// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file memcg.h  The control group to which a process's memory is charged, of version 1 or 2.
 *
 * A process's memory is charged to its nearest ancestor group that has the memory controller. Its
 * path is that of /proc/PID/cgroup, relative to the root of our own cgroup namespace.
 *
 * Source: Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst; cgroups(7).
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <sys/types.h>

struct memcg {
    const char *mount; /* below /sys/fs/cgroup: "/memory" in version 1, "" in version 2 */
    char path[4096];   /* "/machine.slice/..."; "/" for the root */
};

/** Returns false if the process is gone, or if none of its ancestor groups has the memory
 * controller. */
bool memcg_find(const struct fsroot *root, pid_t pid, struct memcg *out);

/** Pages that reclaim has scanned in the group so far: pgscan and pgrefill. 0 for version 1, which
 * does not count them. */
uint64_t memcg_scanned_pages(const struct fsroot *root, const struct memcg *memcg);

/** A process and its mapped anonymous and shared memory. */
struct memcg_process {
    pid_t pid;
    uint64_t bytes;
};

/**
 * Other processes with memory charged to the group: those in the group, and those in descendants
 * without the memory controller.
 * @param largest  the process with the most; pid 0 if no other process has any
 * @return the sum over all but @p pid, in bytes (RssAnon and RssShmem), or a negative errno: -E2BIG
 * more than 4,096 processes
 */
int64_t memcg_others(const struct fsroot *root, const struct memcg *memcg, pid_t pid,
                     struct memcg_process *largest);
