// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file guest_scope.h  The memory that all guests share: the host's, or that of the control group
 * which holds them, if its limit leaves them less. And whether the host's CPUs suffice for them.
 *
 * libvirt puts its guests below machine.slice, or below "machine" without systemd (libvirt,
 * docs/cgroups.rst). Of such a group that is available which its limit leaves, and what is cached
 * of files, without dirty pages: the kernel drops it as the group reaches the limit
 * (Documentation/admin-guide/cgroup-v2.rst, memory.max, memory.stat). The cache of ZFS, the ARC, is
 * in no line of /proc/meminfo; it shrinks when memory is short, down to its minimum (OpenZFS,
 * module/zfs/arc.c; arcstats: size, c_min), so what is above that is available, too.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

struct guest_scope {
    const char *group;                     /* the control group that binds; NULL: the host */
    uint64_t total_bytes, available_bytes; /* without pools of huge pages */
    /* PSI: share of the last minute in which a task waited for a CPU (Documentation/accounting/
     * psi.rst); NAN: not known */
    double cpu_some;
};

/** Returns 0; or the error of /proc/meminfo. A group or an ARC that cannot be read does not bind.
 */
int guest_scope_read(const struct fsroot *root, struct guest_scope *scope, struct error *error);
