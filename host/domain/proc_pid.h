// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file proc_pid.h  What the domain room reads of /proc/PID besides the command line. */
#pragma once

#include "base/fsroot.h"

#include <sys/types.h>

/** The fields of /proc/PID/stat that are used here; proc_pid_stat(5). */
struct proc_stat {
    char state;           /* field 3 */
    uint64_t utime_ticks; /* 14 */
    uint64_t stime_ticks; /* 15 */
    uint64_t start_ticks; /* 22: clock ticks after boot */
};

/** Parses one stat line; the command's name in it may hold anything, ")" too. -EINVAL when
 * malformed. */
int proc_stat_parse(const char *text, struct proc_stat *stat);

/** Reads /proc/PID/stat. -ESRCH when there is no such process or thread. */
int proc_stat_read(const struct fsroot *root, pid_t pid, struct proc_stat *stat);

/** The entries of directory @p path whose names are numbers (pids, tids, fds), ascending. @p
 * numbers is allocated, the caller frees; returns the count. */
ssize_t proc_numbers(const struct fsroot *root, const char *path, pid_t **numbers);
