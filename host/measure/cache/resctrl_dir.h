// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file resctrl_dir.h  The directory of our own monitoring group: it is made, and removed whatever
 * happens. */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"
#include "measure/cache/resctrl_text.h"

#define RESCTRL "sys/fs/resctrl"

struct resctrl_dir; /* opaque */

/** Writes the name of our group for process @p pid into @p name: "vmwss-cache-PID". */
void resctrl_dir_name(pid_t pid, char name[RESCTRL_NAME_BYTES]);

/** Makes it below the control group @p control, with a guardian that removes it when this process
 * dies. 0, then *out must be given to resctrl_dir_remove(); -ENOSPC: there is no free one; with the
 * reason. */
int resctrl_dir_make(const struct fsroot *root, const char *control, pid_t pid,
                     struct resctrl_dir **out, struct error *error);

/** Its path below the root. */
const char *resctrl_dir_path(const struct resctrl_dir *dir);

/** NULL is allowed. */
void resctrl_dir_remove(struct resctrl_dir *dir);

/** Removes groups of ours that no process holds: this process and its guardian were killed at once.
 * @p pid: the process that the caller has locked, whose group goes too */
void resctrl_dir_sweep(const struct fsroot *root, pid_t pid);

/** The lock of what is in resctrl for process @p pid; see run_lock_host(). */
void resctrl_lock_name(pid_t pid, char name[32]);

/** Calls @p visit for each directory below @p path, in any order, until it returns other than 0,
 * which is returned; a negative errno. */
int resctrl_each_dir(const struct fsroot *root, const char *path,
                     int (*visit)(const struct fsroot *root, const char *name, void *context),
                     void *context);

/** Is @p name, in the root of resctrl, a control group's directory? */
bool resctrl_is_control(const char *name);
