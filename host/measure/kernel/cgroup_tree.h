// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file cgroup_tree.h  The control groups of this host that have the memory controller, and their
 * inode numbers, by which /proc/kpagecgroup names them.
 *
 * Source: Documentation/admin-guide/mm/pagemap.rst; mm/memcontrol.c page_cgroup_ino(): for a page
 * that is charged to a removed group it returns the nearest ancestor that still exists.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <stddef.h>

struct cgroup_entry {
    uint64_t inode;
    char *path; /* "/machine.slice/..."; "/" for the root */
};

struct cgroup_tree {
    size_t n;
    struct cgroup_entry *groups; /* ascending by inode */
};

/**
 * Reads @p path and all groups below it that have the memory controller, in cgroup v2 or v1,
 * whichever has that controller.
 * @param path  "/machine.slice"; "/" for all; trailing and repeated slashes are removed
 * @return 0; -ENOENT no such group, or no memory controller; -E2BIG more than 65,536 groups;
 *         -ENOMEM. Free with cgroup_tree_free(), also after a failure.
 */
int cgroup_tree_read(const struct fsroot *root, const char *path, struct cgroup_tree *out,
                     struct error *error);
void cgroup_tree_free(struct cgroup_tree *tree);

/** The index of the group with that inode, or -1. */
ptrdiff_t cgroup_tree_find(const struct cgroup_tree *tree, uint64_t inode);

/** Opens /proc/kpagecgroup, a u64_file: for each frame, the inode of the group that it is charged
 * to; 0 for the tails of a folio. */
int kpagecgroup_open(const struct fsroot *root, struct error *error);
