// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file resctrl_dir.h  Creates the directory of our own monitoring group, and removes it in every
 * case. */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"
#include "measure/cache/resctrl_text.h"

#define RESCTRL "sys/fs/resctrl"

struct resctrl_dir; /* opaque */

/** Makes the group below the control group @p control, with a guardian that removes it when this
 * process dies. 0, then *out must be given to resctrl_dir_remove(); -ENOSPC: there is no free
 * group; with the reason. */
int resctrl_dir_make(const struct fsroot *root, const char *control, pid_t pid,
                     struct resctrl_dir **out, struct error *error);

/** The group's path below the root. */
const char *resctrl_dir_path(const struct resctrl_dir *dir);

/** NULL is allowed. */
void resctrl_dir_remove(struct resctrl_dir *dir);

/**
 * Removes our groups that are left over because their process and its guardian were killed at once.
 * @param pid  the process that the caller has locked; its group is removed too
 */
void resctrl_dir_sweep(const struct fsroot *root, pid_t pid);

/** The name of the lock for process @p pid's resctrl state; see run_lock_host(). */
void resctrl_lock_name(pid_t pid, char name[32]);

/** Calls @p visit for each directory below @p path, in any order, until it returns a value other
 * than 0. Returns that value, or a negative errno. */
int resctrl_each_dir(const struct fsroot *root, const char *path,
                     int (*visit)(const struct fsroot *root, const char *name, void *context),
                     void *context);

/** Returns true if @p name, in the root of resctrl, is the directory of a control group. */
bool resctrl_is_control(const char *name);
