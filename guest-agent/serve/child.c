// SPDX-License-Identifier: LGPL-2.1-or-later
#include "serve/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

static void close_all_but(int one, int other)
{
    long limit = sysconf(_SC_OPEN_MAX);

    for (int fd = STDERR_FILENO + 1; fd < (limit > 0 && limit < 4096 ? limit : 4096); fd++)
        if (fd != one && fd != other)
            close(fd);
}

static void __attribute__((noreturn)) run_child(const struct fsroot *root, pid_t parent, int fd,
                                                json_t *(*make)(const void *), const void *context)
{
    json_t *json;

    /* the parent may have ended before prctl() */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(1);
    close_all_but(fd, root->dirfd);
    json = make(context);
    _exit(json && json_dumpfd(json, fd, JSON_COMPACT) == 0 ? 0 : 1);
}

pid_t child_start(const struct fsroot *root, json_t *(*make)(const void *context),
                  const void *context, int *fd)
{
    pid_t child, parent = getpid();
    int ends[2], rc;

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return -errno;
    child = fork();
    rc = child < 0 ? -errno : 0;
    if (child == 0)
        run_child(root, parent, ends[1], make, context);
    close(ends[1]);
    *fd = ends[0];
    if (rc < 0)
        close(ends[0]);
    return rc < 0 ? rc : child;
}
