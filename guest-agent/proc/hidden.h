// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file hidden.h  Whether /proc hides processes of other users from us.
 *
 * Source: Documentation/filesystems/proc.rst, "Mount Options": with hidepid=2 (invisible) and 4
 * (ptraceable, Linux 5.8) the processes that we may not trace are not among its entries at all;
 * with the former a group, gid=, sees them all the same.
 */
#pragma once

#include "base/fsroot.h"

#include <stdbool.h>
#include <sys/types.h>

/** For the message where processes are missing for it. */
#define PROCESSES_HIDDEN "/proc hides the processes of other users (hidepid)"

bool processes_hidden(const struct fsroot *root);

/** Why the process has no directory in /proc: -EACCES when it runs and is hidden, else -ESRCH. */
int process_absence(const struct fsroot *root, pid_t pid);
