// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/run_dir.h"

#include "base/kernel_number.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The directory is readable for all, but the files for root alone, because a process that can open
 * a file can flock() it. */
#define DIR_MODE 0755
#define FILE_MODE 0600
/* PROC_PID_INIT_INO (include/linux/proc_ns.h) */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCU

static const struct run_dir_keeper *used;

void run_dir_keep(const struct run_dir_keeper *keeper)
{
    used = keeper;
}

/* Its pid in its own namespace, the last of the line. */
static int innermost_pid(const struct fsroot *root, pid_t pid)
{
    char status[8192];
    const char *line = fsroot_read(root, status, sizeof(status), "proc/%d/status", (int)pid) > 0
                           ? kernel_line(status, "NSpid:")
                           : NULL;
    uint64_t innermost = (uint64_t)pid;

    while (line)
        line = kernel_u64(line, &innermost);
    return (int)innermost;
}

void run_dir_guest_file(const struct fsroot *root, pid_t pid, const char *suffix,
                        char file[RUN_DIR_NAME_MAX])
{
    char link[32];
    unsigned number = INITIAL_PID_NAMESPACE;

    if (fsroot_readlink(root, link, sizeof(link), "proc/%d/ns/pid", (int)pid) > 0)
        sscanf(link, "pid:[%10u", &number);
    if (number == INITIAL_PID_NAMESPACE)
        snprintf(file, RUN_DIR_NAME_MAX, "guest-%d%s", (int)pid, suffix);
    else
        snprintf(file, RUN_DIR_NAME_MAX, "guest-%d-%u%s", innermost_pid(root, pid), number, suffix);
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
