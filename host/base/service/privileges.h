// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file privileges.h  The privileges of each half of vmwssd (scanner.h).
 *
 * The scanner, started as root, keeps
 *
 *   CAP_SYS_ADMIN        frame numbers in pagemap, /proc/PID/map_files
 *   CAP_SYS_PTRACE       pagemap, smaps and process_madvise() of a QEMU that runs as another user
 *   CAP_SYS_NICE         process_madvise() (mm/madvise.c)
 *   CAP_DAC_READ_SEARCH  /proc/PID/pagemap belongs to that user, mode 0400
 *   CAP_IPC_LOCK         the ring buffers of zap's tracepoints, beyond perf_event_mlock_kb
 *   CAP_DAC_OVERRIDE     connecting to the channel of a guest's agent, a socket of QEMU's user:
 *                        permitted, and in effect for just that call; not kept if no agents are to
 *                        be queried
 *
 * The rest keeps no capability, and becomes a user of its own (account.h), who owns only the
 * history: it cannot read root's files, and has read-only access to libvirt. Only if it publishes
 * does it get the group that may write to libvirt; that group can make libvirt run any program. The
 * man page says so, and how polkit limits it.
 *
 * A filter (seccomp(2)) allows each of them the system calls that it makes (call_filter.h). All
 * others fail with EPERM: among them those that run a program, trace another process or take its
 * files, write its memory, send it a signal or have the kernel send it (the owner of a file),
 * change its limits, priority or scheduling, load code into the kernel, change mounts, freeze a
 * file system, watch others' accesses to files, set the clock, or use a network. The rest is also
 * refused calls that advise on another process's memory, or count its events. The scanner is
 * refused all sockets except streams to agents, and to open any file for writing: neither root's
 * files nor /proc/PID/mem. It writes page_idle's bitmap by a descriptor from before, and has its
 * locks created, and its tracepoints opened, by another process
 * (programs/vmwssd/scanner/lock_keeper.h): the attributes of perf_event_open(2), which no filter
 * sees, may ask for SIGTRAP in the thread that is counted (Linux 5.13). If writes are to be
 * measured, a third process opens clear_refs (clear_keeper.h).
 */
#pragma once

#include "base/error.h"
#include "base/service/account.h"

#include <stdbool.h>

/* Call it from the only thread, because others would not be filtered. It is permanent. */

/** @p agents: true if agents will be queried. If the process is not root, its service manager has
 * chosen the capabilities. */
int privileges_drop_scanner(bool agents, struct error *error);

/** Also becomes the user of @p account. */
int privileges_drop_rest(const struct account *account, struct error *error);

/** For the process that reclaims (programs/balloond/reclaimer.h), started by root: it stays user 0,
 * who owns memory.reclaim, without capabilities and sockets. If the kernel has Landlock, it writes
 * only files below /sys/fs/cgroup, and makes and removes no file. */
int privileges_drop_reclaimer(struct error *error);

/** For the process that creates the scanner's locks: no capability but that to open events
 * (CAP_PERFMON; CAP_SYS_ADMIN where the kernel asks for it), and writes, creates and removes only
 * files below the directory @p dir_fd, if the kernel has Landlock. */
int privileges_drop_keeper(int dir_fd, struct error *error);

/** For the process that opens /proc/PID/clear_refs for the scanner: CAP_DAC_OVERRIDE only, and
 * writes only files below the directory @p dir_fd, /proc, if the kernel has Landlock. Without
 * CAP_SYS_PTRACE these do not include the memory of other users' processes. */
int privileges_drop_clearer(int dir_fd, struct error *error);

/** Limits the process in the same way to files below /sys/fs/cgroup, and in no other way: for the
 * user of a dry run. Without Landlock it logs that, and changes nothing. */
int privileges_limit_writes(struct error *error);

/** For a thread of the scanner: raises CAP_DAC_OVERRIDE, or drops it. Does nothing, and
 * returns 0, if that was given up; -EPERM: it could not be changed. A thread that could not drop it
 * must end. */
int privileges_reach(bool reach);
