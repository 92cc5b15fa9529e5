// SPDX-License-Identifier: LGPL-2.1-or-later
#include "regrow/drop.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/write_all.h"
#include "proc/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define ENVIRON_MAX ((size_t)1 << 20)

/* Inodes of the initial namespaces, as in /proc/PID/ns: PROC_PID_INIT_INO, PROC_USER_INIT_INO. */
static const struct {
    const char *path, *initial;
} namespaces[] = {
    {"proc/self/ns/pid", "pid:[4026531836]"},
    {"proc/self/ns/user", "user:[4026531837]"},
};

/* Files created by Docker, by Podman, and by systemd in any container. */
static const char *const marks[] = {".dockerenv", "run/.containerenv", "run/systemd/container"};

/* A kernel without such namespaces does not have the file. */
static bool in_namespace(const struct fsroot *root)
{
    char target[PATH_MAX];

    for (size_t i = 0; i < COUNT(namespaces); i++)
        if (fsroot_readlink(root, target, sizeof(target), "%s", namespaces[i].path) > 0 &&
            strcmp(target, namespaces[i].initial) != 0)
            return true;
    return false;
}

static bool init_says_container(const struct fsroot *root)
{
    static const char name[] = "container=";
    cleanup_free char *text = NULL;
    ssize_t length = fsroot_read_all(root, &text, ENVIRON_MAX, "proc/1/environ");

    for (ssize_t i = 0; i < length; i += (ssize_t)strlen(text + i) + 1)
        if (!strncmp(text + i, name, strlen(name)) && text[i + (ssize_t)strlen(name)] != '\0')
            return true;
    return false;
}

static bool has_mark(const struct fsroot *root)
{
    for (size_t i = 0; i < COUNT(marks); i++)
        if (fsroot_exists(root, "%s", marks[i]))
            return true;
    return false;
}

/* Kubernetes leaves no mark, and with hostPID a pod has the host's PID namespace and its PID 1. */
static bool has_own_root(const struct fsroot *root)
{
    struct stat ours, first;

    return fstatat(root->dirfd, ".", &ours, 0) == 0 &&
           fstatat(root->dirfd, "proc/1/root/.", &first, 0) == 0 &&
           (ours.st_dev != first.st_dev || ours.st_ino != first.st_ino);
}

int drop_allowed(const struct fsroot *root, struct error *error)
{
    if (geteuid() != 0)
        return error_set(error, -EACCES, "regrow: only root may drop caches: run as root");
    if (in_namespace(root) || init_says_container(root) || has_mark(root) || has_own_root(root))
        return error_set(
            error, -ENOTSUP,
            "regrow: this is a container, or a chroot: it would drop the page cache of the whole "
            "host; run it on the machine itself");
    return 0;
}

int drop_clean_caches(const struct fsroot *root, struct error *error)
{
    static const char path[] = "proc/sys/vm/drop_caches";
    cleanup_close int fd = fsroot_openf(root, O_WRONLY, "%s", path);
    int rc = fd < 0 ? fd : write_all(fd, "1\n", 2);

    if (rc == -EACCES || rc == -EPERM)
        return error_set(error, rc, "/%s: %s: %s", path, strerror(-rc),
                         RIGHTS_REMEDY(CAP_SYS_ADMIN));
    if (rc == -EROFS)
        return error_set(error, rc,
                         "/%s: read-only here, as in a container or a service with "
                         "ProtectKernelTunables: run it at the machine's own shell",
                         path);
    return rc < 0 ? error_set(error, rc, "/%s: %s", path, strerror(-rc)) : 0;
}
