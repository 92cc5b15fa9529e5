// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file hidden.h  Processes and files that /proc does not show, above all other users' processes.
 *
 * Source: Documentation/filesystems/proc.rst, "Mount Options": with hidepid=2 (invisible) and 4
 * (ptraceable, Linux 5.8) the processes that we may not trace are not among its entries at all;
 * with the former a group, gid=, sees them all the same.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <stdbool.h>
#include <sys/types.h>

/** For the message where processes are missing for it. */
#define PROCESSES_HIDDEN "/proc hides the processes of other users (hidepid)"

/** For the message where /proc has no processes at all. */
#define PROC_NOT_MOUNTED "no processes are there: it is not mounted"

/** Our own number in /proc, which may be that of another PID namespace than getpid()'s; 0 if this
 * is a captured tree, or /proc does not show us. */
pid_t process_self(const struct fsroot *root);

/** Why a file of /proc that every kernel has is not there; NULL: no reason is known. */
const char *proc_file_missing(const struct fsroot *root);

/** The message for @p rc of reading the file at @p path, with proc_file_missing(); returns @p rc.
 */
int proc_error(const struct fsroot *root, struct error *error, int rc, const char *path);

bool processes_hidden(const struct fsroot *root);

/** Why the process has no directory in /proc: -EACCES when it runs and is hidden, else -ESRCH. */
int process_absence(const struct fsroot *root, pid_t pid);
