// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file guest_scope.h  The memory that all guests share: the host's memory, or less if a control
 * group that contains them all has a limit. Also CPU pressure on the host.
 *
 * libvirt puts its guests below machine.slice, or below "machine" without systemd (libvirt,
 * docs/cgroups.rst), or below one slice (<resource><partition>) in it; all of that may be in a
 * container. The available memory of such a group is the unused part of its limit plus
 * clean page cache, which the kernel drops as the group reaches the limit
 * (Documentation/admin-guide/cgroup-v2.rst, memory.max, memory.high, memory.stat). /proc/meminfo
 * does not count ZFS's cache, the ARC. It shrinks to its minimum when memory is short (OpenZFS,
 * module/zfs/arc.c; arcstats: size, c_min), so the excess over that minimum is available, too.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#define GUEST_SCOPE_PATH 512

struct guest_scope {
    /* the control group with the lower limit, which is group_path; NULL: the host */
    const char *group;
    char group_path[GUEST_SCOPE_PATH];
    uint64_t total_bytes, available_bytes; /* without pools of huge pages */
    /* the same of the host; all of it may be short while a small group has less available */
    uint64_t host_total_bytes, host_available_bytes;
    /* PSI: share of the last minute in which a task waited for a CPU (Documentation/accounting/
     * psi.rst); NAN: not known */
    double cpu_some;
};

/** Returns 0, or the error of /proc/meminfo. A group or an ARC that cannot be read is ignored. */
int guest_scope_read(const struct fsroot *root, struct guest_scope *scope, struct error *error);
