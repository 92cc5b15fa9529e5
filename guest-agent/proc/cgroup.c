// SPDX-License-Identifier: LGPL-2.1-or-later
#include "proc/cgroup.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/open_dir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits of depth and number, because any user may nest groups without limit (the kernel has
 * none). */
#define DEPTH_MAX 32
#define GROUPS_MAX 65536

void cgroups_free(struct cgroups *cgroups)
{
    for (size_t i = 0; i < cgroups->n; i++)
        free(cgroups->path[i]);
    free(cgroups->path);
    *cgroups = (struct cgroups){0};
}

const char *cgroup_mount(const struct fsroot *root, struct error *error)
{
    if (fsroot_exists(root, "sys/fs/cgroup/cgroup.controllers"))
        return "sys/fs/cgroup";
    if (fsroot_exists(root, "sys/fs/cgroup/unified/cgroup.controllers"))
        return "sys/fs/cgroup/unified";
    if (fsroot_exists(root, "sys/fs/cgroup/memory"))
        error_set(error, -ENOTSUP,
                  "/sys/fs/cgroup: cgroup v1 only, whose groups have no pressure; boot with "
                  "systemd.unified_cgroup_hierarchy=1");
    else
        error_set(error, -ENOENT, "/sys/fs/cgroup: no cgroup v2 is mounted here");
    return NULL;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_cgroup(struct cgroups *cgroups, const char *parent, const char *name)
{
    char **grown = array_grow(cgroups->path, cgroups->n, sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    cgroups->path = grown;
    if (asprintf(&cgroups->path[cgroups->n], "%s/%s", parent, name) < 0)
        return -ENOMEM;
    cgroups->n++;
    return 0;
}

/* Finds the direct children of @p parent. A group that was removed has none. */
static int children(const struct fsroot *root, const char *mount, const char *parent,
                    struct cgroups *found)
{
    cleanup_dir DIR *dir = NULL;
    const struct dirent *entry;
    int rc = fsroot_opendir(root, &dir, "%s%s", mount, parent);

    if (rc < 0) {
        found->refused += rc == -EACCES || rc == -EPERM;
        return 0;
    }
    while (rc == 0 && (entry = readdir(dir)))
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
            rc = add_cgroup(found, parent, entry->d_name);
    if (found->n > 1)
        qsort(found->path, found->n, sizeof(*found->path), by_name);
    return rc;
}

static int walk_cgroups(const struct fsroot *root, const char *mount, const char *parent, int depth,
                        struct cgroups *all)
{
    struct cgroups found = {0};
    int rc = depth < DEPTH_MAX ? children(root, mount, parent, &found) : 0;

    for (size_t i = 0; rc == 0 && i < found.n && all->n < GROUPS_MAX; i++) {
        rc = add_cgroup(all, "", found.path[i] + 1);
        if (rc == 0)
            rc = walk_cgroups(root, mount, found.path[i], depth + 1, all);
    }
    all->refused += found.refused;
    cgroups_free(&found);
    return rc;
}

int cgroups_list(const struct fsroot *root, struct cgroups *cgroups, struct error *error)
{
    const char *mount = cgroup_mount(root, error);
    int rc;

    *cgroups = (struct cgroups){0};
    if (!mount)
        return -ENOTSUP;
    rc = walk_cgroups(root, mount, "", 0, cgroups);
    if (rc < 0)
        cgroups_free(cgroups);
    return rc < 0 ? error_set(error, rc, "/%s: %s", mount, strerror(-rc)) : 0;
}
