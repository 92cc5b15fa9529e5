// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file privileges.h  What each half of vmwssd (scanner.h) may do, and no more.
 *
 * The scanner, started as root, keeps
 *
 *   CAP_SYS_ADMIN        frame numbers in pagemap, /proc/PID/map_files, tracepoints
 *   CAP_SYS_PTRACE       pagemap, smaps and process_madvise() of a QEMU that runs as another user
 *   CAP_SYS_NICE         process_madvise() (mm/madvise.c)
 *   CAP_DAC_READ_SEARCH  /proc/PID/pagemap belongs to that user, mode 0400
 *   CAP_IPC_LOCK         the ring buffers of zap's tracepoints, beyond perf_event_mlock_kb
 *   CAP_DAC_OVERRIDE     connecting to the channel of a guest's agent, a socket of QEMU's user:
 *                        permitted, and in effect for just that call; not at all when no agents are
 *                        to be asked
 *
 * The rest keeps none, and becomes a user of its own (account.h), who owns the history and nothing
 * else: root's files are closed to it, and libvirt lets it read. Only where it publishes does it
 * have the group that may write to libvirt, which does what that group asks, and that is to run any
 * program. The man page says so, and how polkit limits it.
 *
 * And system calls that neither makes, whatever it may: to run a program, to trace another process
 * or take its files, to send a signal to one or have the kernel send it (the owner of a file), to
 * limit one, to load code into the kernel, to mount, to set the clock, to talk to a network
 * (seccomp(2)). They fail with EPERM. Nothing connects to vmwssd:
 * listen(2) fails, too. The rest is refused also what reads another process's memory, advises on
 * it, or counts its events; the scanner, all sockets but those to agents. What no filter of calls
 * can refuse remains: with CAP_SYS_PTRACE the scanner could write /proc/PID/mem.
 */
#pragma once

#include "base/error.h"
#include "base/service/account.h"

#include <stdbool.h>

/* From the only thread: others would not be filtered. For good. */

/** @p agents: are any to be asked? Where the process is not root, its service manager has chosen
 * the capabilities. */
int privileges_drop_scanner(bool agents, struct error *error);

/** Takes on @p account, too. */
int privileges_drop_rest(const struct account *account, struct error *error);

/** For the process that reclaims (programs/balloond/reclaimer.h), started by root: it stays user 0,
 * to whom memory.reclaim belongs, without capabilities and sockets, and where the kernel has
 * Landlock it writes no file but those below /sys/fs/cgroup, and makes and removes none. */
int privileges_drop_reclaimer(struct error *error);

/** Limits the process as much to files below /sys/fs/cgroup, and no more than that: of the user of
 * a dry run. Without Landlock that is logged, and it is as before. */
int privileges_limit_writes(struct error *error);

/** In this thread of the scanner: takes up CAP_DAC_OVERRIDE, or lays it down. Does nothing, and
 * returns 0, where it was given up; -EPERM: it could not be changed. A thread that could not lay it
 * down must end. */
int privileges_reach(bool reach);
