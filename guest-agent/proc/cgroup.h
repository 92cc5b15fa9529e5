// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cgroup.h  The guest's cgroups of version 2 that have their own pressure and memory
 * accounting. */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <stddef.h>

struct cgroups {
    char **path; /* relative to the mount, "/system.slice"; each group before its children */
    size_t n;
    size_t refused; /* number of groups whose children may not be listed */
};

void cgroups_free(struct cgroups *cgroups);

/** Returns where cgroup v2 is mounted, relative to the root: systemd's unified or hybrid layout.
 * NULL with the message if there is only v1, or no cgroup file system. */
const char *cgroup_mount(const struct fsroot *root, struct error *error);

/** Lists all groups except the root, sorted by name within their parent. 0, then call
 * cgroups_free(); or a negative errno with the message. */
int cgroups_list(const struct fsroot *root, struct cgroups *cgroups, struct error *error);
