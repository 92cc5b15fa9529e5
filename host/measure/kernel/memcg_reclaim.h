// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file memcg_reclaim.h  memory.reclaim of the control group of one guest, and of nothing else.
 *
 * A write to memory.reclaim reclaims from all processes of the group and of those below it. So the
 * group must be a guest's own: one that is named as libvirt or systemd name a machine's (".scope",
 * or ".libvirt-" where no systemd runs), with that QEMU in it, and no other process but helpers
 * that libvirt starts beside a QEMU, and those without memory (the kernel's threads: vhost, KVM).
 *
 * The path is that of /proc/PID/cgroup, taken below /sys/fs/cgroup without following symbolic links
 * and without leaving it (openat2(2), RESOLVE_BENEATH); from there on all is done by that
 * directory's descriptor, so the group that was checked is the one that is written to. The group is
 * the nearest one upwards that has the memory controller.
 *
 * Needs no capability: memory.reclaim belongs to root, mode 0200, and all else can be read by all.
 *
 * Source: Documentation/admin-guide/cgroup-v2.rst; mm/memcontrol.c memory_reclaim(): it returns
 * -EAGAIN when it found less, and -EINTR at a signal; libvirt src/util/vircgroupv2.c.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <sys/types.h>

struct memcg_reclaim {
    int fd; /* the group's directory */
    char path[1024];
};

/**
 * Finds and checks the group of @p pid.
 * @return 0, close with memcg_reclaim_close(); or a negative errno with the reason, which names the
 * process and the group: -ESRCH no such process; -EOPNOTSUPP cgroup v1, or a kernel without
 * memory.reclaim; -EXDEV its path is not one below /sys/fs/cgroup; -EBUSY others are in it
 */
int memcg_reclaim_open(const struct fsroot *root, pid_t pid, struct memcg_reclaim *out,
                       struct error *error);
void memcg_reclaim_close(struct memcg_reclaim *group);

struct memcg_counters {
    uint64_t current_bytes;   /* memory.current */
    uint64_t refault_bytes;   /* of anonymous and shared memory, since it was made */
    double pressure_s;        /* PSI some, likewise; NAN: the kernel does not say */
    uint64_t swap_left_bytes; /* of memory.swap.max; UINT64_MAX: no limit */
};

int memcg_reclaim_read(const struct memcg_reclaim *group, struct memcg_counters *out,
                       struct error *error);

/** Reclaims @p bytes. 0: so much, or all that was found; 1: less, for a signal ended it; or a
 * negative errno with the message. How much it was is in memory.current. */
int memcg_reclaim_write(const struct memcg_reclaim *group, uint64_t bytes, struct error *error);
