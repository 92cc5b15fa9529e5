// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file proc_pid.h  Parses /proc/PID/stat, and directories of /proc whose entries are numbers. */
#pragma once

#include "base/fsroot.h"

#include <sys/types.h>

/** The fields of /proc/PID/stat that are used here; proc_pid_stat(5). */
struct proc_stat {
    char state;            /* field 3 */
    pid_t parent;          /* 4 */
    uint64_t minor_faults; /* 10: for a process, the sum of all its threads */
    uint64_t major_faults; /* 12: the same sum, of faults that had to wait for a disk */
    uint64_t utime_ticks;  /* 14 */
    uint64_t stime_ticks;  /* 15 */
    uint64_t start_ticks;  /* 22: clock ticks after boot */
    uint64_t start_stack;  /* 28: begin of the stack, in its address space; 0: not permitted */
    /* 43: the part of utime spent in a virtual CPU; 0 if the line ends before it */
    uint64_t guest_ticks;
};

/** Parses one stat line; the command's name in it may contain any character, including ")". -EINVAL
 * if it is malformed. */
int proc_stat_parse(const char *text, struct proc_stat *stat);

/** The command's name in a stat line, from the first "(" to the last ")". The process can choose
 * any bytes, including newlines; bytes that are not printable UTF-8 become '?'. At most 15 bytes
 * for a process, more for a kernel thread; cut to @p size. -EINVAL if there is no name. */
int proc_stat_name(const char *text, char *name, size_t size);

/** Reads /proc/PID/stat. -ESRCH when there is no such process or thread. */
int proc_stat_read(const struct fsroot *root, pid_t pid, struct proc_stat *stat);

/** The entries of directory @p path whose names are numbers (pids, tids, fds), ascending. @p
 * numbers is allocated, the caller frees; returns the count. */
ssize_t proc_numbers(const struct fsroot *root, const char *path, pid_t **numbers);

struct proc_number {
    pid_t number;
    uint64_t inode;
};

/** As proc_numbers(), with the inode of each. */
ssize_t proc_numbers_inodes(const struct fsroot *root, const char *path,
                            struct proc_number **numbers);
