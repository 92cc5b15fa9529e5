// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file open_dir.h  Directories below a root: see fsroot.h. */
#pragma once

#include "base/fsroot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/** fdopendir(); takes over @p fd. Returns 0 or a negative errno; @p fd itself if it is negative. */
static inline int open_dir_at(int fd, DIR **dir)
{
    if (fd < 0)
        return fd;
    *dir = fdopendir(fd);
    if (*dir)
        return 0;
    close(fd);
    return -ENOMEM;
}

/** Opens a directory; the path is as in fsroot_openf(). The caller closes @p dir, which is NULL or
 * unchanged on errors. */
#define fsroot_opendir(root, dir, ...) \
    open_dir_at(fsroot_openf(root, O_RDONLY | O_DIRECTORY, __VA_ARGS__), dir)
