// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file privileges.h  What root may do that vmwssd needs, and no more.
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
 * It stays user 0, whose files it reads and writes: libvirt's sockets, which serve root without a
 * question put to polkit, the run directory that it shares with vmwss measure, and the history that
 * older versions left. Without capabilities that user may no more than the owner of these.
 *
 * And system calls that it never makes, whatever it may: to run a program, to trace another process
 * or take its files, to load code into the kernel, to mount, to set the clock, to talk to a network
 * (seccomp(2)). They fail with EPERM. vsock(7) is one only when no agents are to be asked. Nothing
 * connects to vmwssd: listen(2) fails, too. What no filter of calls can refuse remains: with
 * CAP_SYS_PTRACE, /proc/PID/mem of another process can be written, and root's processes stopped.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>

/** @p agents: is anybody to be asked? Keeps these capabilities, and gives all else up for good.
 * From the only thread: others would not be filtered. */
int privileges_drop(bool agents, struct error *error);

/** In this thread: takes up CAP_DAC_OVERRIDE, or lays it down. Nothing where it was given up. */
void privileges_reach(bool reach);
