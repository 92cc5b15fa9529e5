// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file privileges.h  What root may do that vmwssd needs, and no more.
 *
 *   CAP_SYS_ADMIN        frame numbers in pagemap, /proc/PID/map_files, tracepoints
 *   CAP_SYS_PTRACE       pagemap, smaps and process_madvise() of a QEMU that runs as another user
 *   CAP_SYS_NICE         process_madvise() (mm/madvise.c)
 *   CAP_DAC_READ_SEARCH  /proc/PID/pagemap belongs to that user, mode 0400
 *   CAP_IPC_LOCK         the ring buffers of zap's tracepoints, beyond perf_event_mlock_kb
 */
#pragma once

#include "base/error.h"

/** Keeps these, and drops all others for good. From the only thread. */
int privileges_drop(struct error *error);
