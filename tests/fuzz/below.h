// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file below.h  A directory in memory that a target's parsers take for the root: what they open
 * by path is the input. */
#pragma once

#include "base/fsroot.h"
#include "fuzz.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char below_path[] = "/dev/shm/vmwss-fuzz.XXXXXX";

static inline void below_remove(void)
{
    char command[64];

    snprintf(command, sizeof(command), "rm -rf -- %s", below_path);
    CLAIM(system(command) == 0); /* NOLINT(cert-env33-c): a name of our own making */
}

/** The root, made at the first call, with proc/1/task/1; it goes when the process ends. */
static inline const struct fsroot *below_root(void)
{
    static struct fsroot root = {.dirfd = -1};

    if (root.dirfd >= 0)
        return &root;
    CLAIM(mkdtemp(below_path) && fsroot_open(&root, below_path) == 0 && atexit(below_remove) == 0);
    for (const char *const *at =
             (const char *const[]){"proc", "proc/1", "proc/1/task", "proc/1/task/1", NULL};
         *at; at++)
        CLAIM(mkdirat(root.dirfd, *at, 0700) == 0);
    return &root;
}

static inline void below_write(const char *path, const void *data, size_t size)
{
    int fd = openat(below_root()->dirfd, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    CLAIM(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
}
