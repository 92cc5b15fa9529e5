// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file memcg_reclaim.h  memory.reclaim of a control group that contains one guest and nothing
 * else.
 *
 * A write to memory.reclaim reclaims from all processes of the group and of those below it. So the
 * group must belong to that guest alone. Its name must be one that libvirt or systemd give to a
 * machine's group (".scope", or ".libvirt-" without systemd). It must contain the guest's QEMU, and
 * otherwise only helpers that libvirt starts beside a QEMU, and processes without memory (kernel
 * threads: vhost, KVM).
 *
 * The path is that of /proc/PID/cgroup, opened below /sys/fs/cgroup without following symbolic
 * links and without leaving it (openat2(2), RESOLVE_BENEATH). All further access goes through that
 * directory's descriptor, so the group that was checked is the one that is written to. The group is
 * the nearest ancestor that has the memory controller.
 *
 * This needs no capability: memory.reclaim belongs to root, mode 0200, and every other file is
 * readable by all.
 *
 * Source: Documentation/admin-guide/cgroup-v2.rst; mm/memcontrol.c memory_reclaim(): it returns
 * -EAGAIN when it reclaimed less, and -EINTR at a signal; libvirt src/util/vircgroupv2.c.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <sys/types.h>

#define MEMCG_PATH_MAX 1024

struct memcg_reclaim {
    int fd; /* the group's directory */
    char path[MEMCG_PATH_MAX];
};

/** Finds the path of the group in @p text, which is that of /proc/PID/cgroup. Returns 0, or as
 * memcg_reclaim_open(). */
int memcg_reclaim_parse(const char *text, pid_t pid, char path[MEMCG_PATH_MAX],
                        struct error *error);

/** The kind of a process's group. A process gives itself any name and command line, but only root
 * moves it to a group of another kind. */
enum memcg_standing {
    MEMCG_USERS,   /* below /user.slice, or in a group that was delegated to a user */
    MEMCG_SYSTEMS, /* another one of the system's; or it cannot be found */
    /* in one that libvirt or Proxmox VE names after a QEMU, and not below a service's or a
     * container's, which may make such a name below its own */
    MEMCG_QEMUS
};
enum memcg_standing memcg_reclaim_standing(const struct fsroot *root, pid_t pid);

/**
 * Finds and checks the group of @p pid.
 * @return 0, close with memcg_reclaim_close(); or a negative errno with the reason, which names the
 * process and the group: -ESRCH no such process; -EOPNOTSUPP cgroup v1, or a kernel without
 * memory.reclaim; -EXDEV its path is not below /sys/fs/cgroup; -EBUSY it contains other processes
 */
int memcg_reclaim_open(const struct fsroot *root, pid_t pid, struct memcg_reclaim *out,
                       struct error *error);
void memcg_reclaim_close(struct memcg_reclaim *group);

struct memcg_counters {
    uint64_t current_bytes; /* memory.current */
    /* refaults of anonymous and shared memory since the group was created */
    uint64_t refault_bytes;
    /* PSI some since the group was created; NAN: the kernel does not report it */
    double pressure_s;
    uint64_t swap_left_bytes; /* room left below memory.swap.max; UINT64_MAX: no limit */
};

int memcg_reclaim_read(const struct memcg_reclaim *group, struct memcg_counters *out,
                       struct error *error);

/** Reclaims @p bytes. 0: that amount, or as much as the kernel could reclaim; 1: less, because of a
 * signal; or a negative errno with the message. memory.current shows the reclaimed amount. */
int memcg_reclaim_write(const struct memcg_reclaim *group, uint64_t bytes, struct error *error);
