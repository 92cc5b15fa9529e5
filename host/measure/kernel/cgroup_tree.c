// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/cgroup_tree.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/compare.h"
#include "base/open_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_GROUPS 65536
#define MAX_DEPTH 32
#define MAX_PATH 4096

struct walk {
    const struct fsroot *root;
    const char *mount;
    struct cgroup_tree *tree;
};

int kpagecgroup_open(const struct fsroot *root, struct error *error)
{
    int fd = fsroot_openf(root, O_RDONLY, "proc/kpagecgroup");

    if (fd == -ENOENT)
        return error_set(error, fd,
                         "this kernel has no /proc/kpagecgroup: it needs CONFIG_MEMCG=y and "
                         "CONFIG_PROC_PAGE_MONITOR=y");
    if (fd < 0)
        return error_set(error, fd, "/proc/kpagecgroup: %s; run as root", strerror(-fd));
    return fd;
}

static int append_group(struct cgroup_tree *tree, const char *path, uint64_t inode)
{
    const struct cgroup_entry entry = {.inode = inode, .path = strdup(path)};
    int rc = tree->n == MAX_GROUPS ? -E2BIG
             : !entry.path         ? -ENOMEM
                                   : array_put(&tree->groups, &tree->n, &entry, sizeof(entry));

    if (rc < 0)
        free(entry.path);
    return rc;
}

static int add_group(const struct walk *walk, const char *path, unsigned depth);

static int add_below(const struct walk *walk, const char *path, const char *name, unsigned depth)
{
    char below[MAX_PATH];
    int length = snprintf(below, sizeof(below), "%s/%s", strcmp(path, "/") ? path : "", name);

    return *name == '.' || length >= (int)sizeof(below) ? 0 : add_group(walk, below, depth + 1);
}

static int add_those_below(const struct walk *walk, DIR *directory, const char *path,
                           unsigned depth)
{
    const struct dirent *entry;
    int rc = 0;

    while (rc == 0 && (entry = readdir(directory)))
        if (entry->d_type == DT_DIR)
            rc = add_below(walk, path, entry->d_name, depth);
    return rc;
}

/* Skips a group that is removed while its parent is read. The root of version 2 has no memory.stat
 * before Linux 5.8, but counts as a group. */
static int add_group(const struct walk *walk, const char *path, unsigned depth)
{
    cleanup_dir DIR *directory = NULL;
    struct stat status;
    int rc = fsroot_opendir(walk->root, &directory, "sys/fs/cgroup%s%s", walk->mount, path);

    if (rc < 0 || fstat(dirfd(directory), &status) < 0)
        return depth == 0 ? -ENOENT : 0;
    if (!strcmp(path, "/") ||
        fsroot_exists(walk->root, "sys/fs/cgroup%s%s/memory.stat", walk->mount, path))
        rc = append_group(walk->tree, path, status.st_ino);
    return rc == 0 && depth < MAX_DEPTH ? add_those_below(walk, directory, path, depth) : rc;
}

COMPARE_BY(by_inode, struct cgroup_entry, inode)

static bool has_memory(const struct fsroot *root, const char *mount)
{
    cleanup_free char *text = NULL;

    return *mount
               ? fsroot_exists(root, "sys/fs/cgroup%s/memory.stat", mount)
               : fsroot_read_all(root, &text, MAX_PATH, "sys/fs/cgroup/cgroup.controllers") > 0 &&
                     strstr(text, "memory");
}

/* Writes the path as /proc/PID/cgroup and lru_gen write it, because groups are identified by their
 * paths: "/a.slice//b/" becomes "/a.slice/b". Returns false if it does not fit, or contains "." or
 * "..". */
static bool plain_path(const char *path, char plain[MAX_PATH])
{
    size_t used = 0;

    while (*(path += strspn(path, "/"))) {
        size_t length = strcspn(path, "/");

        if (used + length + 1 >= MAX_PATH ||
            (*path == '.' && length <= 2 && path[length - 1] == '.'))
            return false;
        plain[used++] = '/';
        memcpy(plain + used, path, length);
        used += length;
        path += length;
    }
    snprintf(plain + used, MAX_PATH - used, "%s", used ? "" : "/");
    return true;
}

int cgroup_tree_read(const struct fsroot *root, const char *path, struct cgroup_tree *out,
                     struct error *error)
{
    struct walk walk = {.root = root, .mount = "/memory", .tree = out};
    char plain[MAX_PATH];
    int rc;

    *out = (struct cgroup_tree){0};
    if (!has_memory(root, walk.mount))
        walk.mount = "";
    if (!has_memory(root, walk.mount))
        return error_set(error, -ENOENT,
                         "/sys/fs/cgroup has no memory controller: is it mounted, and not switched "
                         "off by cgroup_disable=memory?");
    rc = plain_path(path, plain) ? add_group(&walk, plain, 0) : -ENOENT;
    if (rc == -ENOENT || (rc == 0 && out->n == 0))
        return error_set(error, -ENOENT,
                         "control group %s: no such group with the memory controller in "
                         "/sys/fs/cgroup%s",
                         path, walk.mount);
    if (rc < 0)
        return error_set(error, rc, "control group %s: %s", path, strerror(-rc));
    qsort(out->groups, out->n, sizeof(*out->groups), by_inode);
    return 0;
}

void cgroup_tree_free(struct cgroup_tree *tree)
{
    for (size_t i = 0; i < tree->n; i++)
        free(tree->groups[i].path);
    free(tree->groups);
    *tree = (struct cgroup_tree){0};
}

ptrdiff_t cgroup_tree_find(const struct cgroup_tree *tree, uint64_t inode)
{
    const struct cgroup_entry wanted = {.inode = inode};
    const struct cgroup_entry *found =
        tree->n ? bsearch(&wanted, tree->groups, tree->n, sizeof(wanted), by_inode) : NULL;

    return found ? found - tree->groups : -1;
}
