// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/open_below.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define DEPTH_MAX 64
#define LINKS_MAX 40 /* as in the kernel */

/* A walk from the root. */
struct walk {
    int fds[DEPTH_MAX]; /* the directories on the way; the first is the root, and not ours */
    unsigned depth;     /* number of directories below the root */
    unsigned links;
    bool socket;         /* open a socket, instead of a file to read */
    char rest[PATH_MAX]; /* the part of the path that is left */
};

static void go_up_to(struct walk *walk, unsigned depth)
{
    while (walk->depth > depth)
        close(walk->fds[walk->depth--]);
}

/* Takes the next component off the path; returns false at the end. */
static bool take_component(struct walk *walk, char component[NAME_MAX + 1], int *rc)
{
    const char *at = walk->rest + strspn(walk->rest, "/");
    const size_t n = strcspn(at, "/");

    if (n == 0)
        return false;
    if (n > NAME_MAX) {
        *rc = -ENAMETOOLONG;
        return false;
    }
    memcpy(component, at, n);
    component[n] = '\0';
    memmove(walk->rest, at + n, strlen(at + n) + 1);
    return true;
}

static int follow(struct walk *walk, int link_fd)
{
    char target[PATH_MAX];
    char all[PATH_MAX];
    struct statfs system;

    /* "self" in it would be this process; and descriptors lead anywhere (as RESOLVE_NO_MAGICLINKS)
     */
    if (fstatfs(link_fd, &system) == 0 && system.f_type == PROC_SUPER_MAGIC)
        return -ELOOP;

    ssize_t n = readlinkat(link_fd, "", target, sizeof(target) - 1);

    if (n < 0)
        return -errno;
    if (++walk->links > LINKS_MAX)
        return -ELOOP;
    target[n] = '\0';
    if (target[0] == '/')
        go_up_to(walk, 0);
    if (snprintf(all, sizeof(all), "%s%s", target, walk->rest) >= (int)sizeof(all))
        return -ENAMETOOLONG;
    snprintf(walk->rest, sizeof(walk->rest), "%s", all);
    return 0;
}

/* Opens the file at the end of the way. @p fd: its descriptor that only names it (O_PATH). */
static int open_last(const struct walk *walk, const char *component, int fd, mode_t mode)
{
    int last;

    if (walk->socket && !S_ISSOCK(mode))
        return -ENOTSOCK;
    last = walk->socket ? fcntl(fd, F_DUPFD_CLOEXEC, 0)
                        : openat(walk->fds[walk->depth], component,
                                 O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return last < 0 ? -errno : last;
}

/* Goes into a directory or along a link; returns a descriptor of any other file. -EAGAIN: the way
 * goes on. */
static int enter(struct walk *walk, const char *component)
{
    const int here = walk->fds[walk->depth];
    cleanup_close int fd = openat(here, component, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;
    int rc;

    if (fd < 0 || fstat(fd, &status) < 0)
        return -errno;
    if (S_ISLNK(status.st_mode)) {
        rc = follow(walk, fd);
        return rc < 0 ? rc : -EAGAIN;
    }
    if (!S_ISDIR(status.st_mode))
        return walk->rest[0] ? -ENOTDIR : open_last(walk, component, fd, status.st_mode);
    if (walk->depth + 1 == DEPTH_MAX)
        return -ENAMETOOLONG;
    rc = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (rc < 0)
        return -errno;
    walk->fds[++walk->depth] = rc;
    return -EAGAIN;
}

static int walk_below(int root_fd, const char *path, bool socket)
{
    struct walk walk = {.fds = {root_fd}, .socket = socket};
    char component[NAME_MAX + 1];
    int rc = -EAGAIN;

    if (snprintf(walk.rest, sizeof(walk.rest), "%s", path) >= (int)sizeof(walk.rest))
        return -ENAMETOOLONG;
    while (rc == -EAGAIN && take_component(&walk, component, &rc)) {
        if (!strcmp(component, ".."))
            go_up_to(&walk, walk.depth > 0 ? walk.depth - 1 : 0);
        else if (strcmp(component, ".") != 0)
            rc = enter(&walk, component);
    }
    go_up_to(&walk, 0);
    return rc == -EAGAIN ? -EISDIR : rc;
}

int open_below(int root_fd, const char *path)
{
    return walk_below(root_fd, path, false);
}

int open_socket_below(int root_fd, const char *path)
{
    return walk_below(root_fd, path, true);
}
