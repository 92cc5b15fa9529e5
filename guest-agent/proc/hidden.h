// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file hidden.h  Detects processes and files that /proc hides, mainly other users' processes.
 *
 * Source: Documentation/filesystems/proc.rst, "Mount Options": with hidepid=2 (invisible) and 4
 * (ptraceable, Linux 5.8) /proc has no entries of processes that we may not trace; with 2, members
 * of the group gid= still see them.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <stdbool.h>
#include <sys/types.h>

/** The message if processes are missing for this reason. */
#define PROCESSES_HIDDEN "/proc hides the processes of other users (hidepid)"

/** The message if /proc has no processes. */
#define PROC_NOT_MOUNTED "no processes are there: it is not mounted"

/** Our own pid in /proc, which may belong to another PID namespace than getpid()'s. 0 if this is a
 * captured tree, or if /proc does not show us. */
pid_t process_self(const struct fsroot *root);

/** Returns why a file of /proc that every kernel has is missing; NULL: no reason is known. */
const char *proc_file_missing(const struct fsroot *root);

/** Sets the error for @p rc of reading the file at @p path, with proc_file_missing(); returns @p
 * rc.
 */
int proc_error(const struct fsroot *root, struct error *error, int rc, const char *path);

bool processes_hidden(const struct fsroot *root);

/** Returns why the process has no directory in /proc: -EACCES if it runs but is hidden, otherwise
 * -ESRCH. */
int process_absence(const struct fsroot *root, pid_t pid);
