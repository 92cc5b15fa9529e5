// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file shared_memory.h  Processes that run in one address space: a vfork()ed child and its parent,
 * or any clone(CLONE_VM) without CLONE_THREAD. /proc shows all of the memory for each of them.
 *
 * Only kcmp(2) with KCMP_VM tells them from processes that merely look alike, as after a fork. It
 * needs CONFIG_KCMP, the right to read both processes, a seccomp filter that permits it, and a
 * /proc of our own PID namespace.
 */
#pragma once

#include "proc/processes.h"

/** For the message if kcmp() is not available. */
#define MEMORY_SHARING_UNKNOWN                                                                 \
    "kcmp(2) is not available, so processes in one address space (vfork) are not recognized: " \
    "their memory may be counted more than once"

/** Whether kcmp() is available here. */
bool memory_sharing_known(const struct fsroot *root);

/**
 * Sets shares_with of each process in the address space of an earlier one of the array, and
 * sharing_unknown. About 0.4 us for each comparison, n log n of them.
 */
void processes_find_sharing(const struct fsroot *root, struct processes *processes);

/** Whether the memory of @p process is counted already, with that of one among @p n others. */
bool process_is_counted(const struct process *process, const struct process *others, size_t n);
