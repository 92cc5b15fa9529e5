// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file privileges.h  The privileges of each half of vmwssd (scanner.h).
 *
 * The scanner, started as root, keeps
 *
 *   CAP_SYS_ADMIN        frame numbers in pagemap, /proc/PID/map_files, tracepoints
 *   CAP_SYS_PTRACE       pagemap, smaps and process_madvise() of a QEMU that runs as another user
 *   CAP_SYS_NICE         process_madvise() (mm/madvise.c)
 *   CAP_DAC_READ_SEARCH  /proc/PID/pagemap belongs to that user, mode 0400
 *   CAP_IPC_LOCK         the ring buffers of zap's tracepoints, beyond perf_event_mlock_kb
 *   CAP_DAC_OVERRIDE     connecting to the channel of a guest's agent, a socket of QEMU's user:
 *                        permitted, but effective only during that call; dropped if no agents are
 *                        queried
 *
 * The other half keeps no capability, and runs as a user (account.h) that owns only the history: it
 * cannot read root's files, and has read-only access to libvirt. Only with `publish` it also gets
 * the group that may write to libvirt; members of that group can make libvirt run any program. The
 * man page describes this risk, and how polkit limits it.
 *
 * A seccomp(2) filter refuses system calls that neither half makes: running a program, tracing
 * another process or taking its files, sending signals to a process (also through the owner of a
 * file), limiting a process, loading code into the kernel, mounting, setting the clock, using a
 * network. They fail with EPERM. No client connects to vmwssd: listen(2) fails, too. The
 * unprivileged half is also refused calls that read another process's memory, advise on it, or
 * count its events; the scanner is refused all sockets except those to agents. A seccomp filter
 * cannot refuse everything: with CAP_SYS_PTRACE the scanner could write /proc/PID/mem.
 */
#pragma once

#include "base/error.h"
#include "base/service/account.h"

#include <stdbool.h>

/* These functions are permanent. Call them from the only thread: other threads would not be
 * filtered. */

/** @p agents: true if agents will be queried. If the process is not root, its service manager has
 * chosen the capabilities. */
int privileges_drop_scanner(bool agents, struct error *error);

/** Also switches to the user of @p account. */
int privileges_drop_rest(const struct account *account, struct error *error);

/** For the process that reclaims (programs/balloond/reclaimer.h), started by root: it stays user 0,
 * because root owns memory.reclaim, but without capabilities and sockets. If the kernel has
 * Landlock, it can write only files below /sys/fs/cgroup, and can create or remove no file. */
int privileges_drop_reclaimer(struct error *error);

/** Only limits writes to files below /sys/fs/cgroup, with Landlock: for a dry run's user. Without
 * Landlock it logs that, and changes nothing. */
int privileges_limit_writes(struct error *error);

/** Raises or drops CAP_DAC_OVERRIDE for the calling thread of the scanner. Returns 0 without any
 * effect if the process gave the capability up; -EPERM: it could not be changed. A thread that
 * could not drop it must end. */
int privileges_reach(bool reach);
