// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file clear_keeper.h  The process that opens /proc/PID/clear_refs for the scanner, whose
 * soft-dirty bits tell what a guest writes (guest_writes.h).
 *
 * The file belongs to QEMU's user, mode 0200. The process has the one capability that opens it,
 * CAP_DAC_OVERRIDE, and takes pids only. Without CAP_SYS_PTRACE it cannot open the memory of
 * another user's process; Landlock limits it to files below /proc.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

/** Starts it; call it while there is one thread and before privileges_drop_scanner(). Until then,
 * and without it, clear_refs() opens the file itself, which the scanner's filter refuses. */
int clear_keeper_start(const struct fsroot *root, struct error *error);

/** Opens the file of the process that the request of @p size bytes names, below the directory.
 * Returns 0, with the descriptor; a negative errno; or 1: the scanner sends no such request. */
int clear_keeper_answer(int dir_fd, const void *message, size_t size, int *fd);
