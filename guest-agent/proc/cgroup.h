// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cgroup.h  The guest's control groups, version 2: those that have pressure and memory
 * accounts of their own. */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <stddef.h>

struct cgroups {
    char **path; /* below the mount, "/system.slice"; each group before its children */
    size_t n;
    size_t refused; /* whose children we may not list */
};

void cgroups_free(struct cgroups *cgroups);

/** Where cgroup v2 is mounted, relative to the root: systemd's unified or its hybrid layout. NULL
 * with the message when there is v1 only, or nothing. */
const char *cgroup_mount(const struct fsroot *root, struct error *error);

/** All groups but the root's, sorted by name within their parent. 0, then give them to
 * cgroups_free(); or a negative errno with the message. */
int cgroups_list(const struct fsroot *root, struct cgroups *cgroups, struct error *error);
