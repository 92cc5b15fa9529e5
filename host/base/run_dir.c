// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/run_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The directory is readable for all, but the files for root alone, because a process that can open
 * a file can flock() it. */
#define DIR_MODE 0755
#define FILE_MODE 0600

static const struct run_dir_keeper *used;

void run_dir_keep(const struct run_dir_keeper *keeper)
{
    used = keeper;
}

int run_dir_open(const struct fsroot *root)
{
    int fd = fsroot_openf(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, RUN_DIR);

    if (fd != -ENOENT)
        return fd;
    if (mkdirat(root->dirfd, RUN_DIR, DIR_MODE) < 0 && errno != EEXIST)
        return -errno;
    return fsroot_openf(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, RUN_DIR);
}

int run_dir_create(int dir_fd, const char *file)
{
    const char *dot = strrchr(file, '.');
    const int empties = dot && !strcmp(dot, RUN_DIR_PANEL) ? O_TRUNC : 0;
    int fd;

    if (used)
        return used->create(file);
    fd = openat(dir_fd, file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | empties, FILE_MODE);
    return fd < 0 ? -errno : fd;
}

int run_dir_remove(int dir_fd, const char *file)
{
    if (used)
        return used->remove(file);
    return unlinkat(dir_fd, file, 0) < 0 ? -errno : 0;
}
