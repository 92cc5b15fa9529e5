// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/domain/qemu_config_file.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/open_below.h"
#include "base/proc_pid.h"
#include "guest/domain/qemu_cmdline.h"
#include "guest/domain/qemu_config_text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* QEMU reads its files within this time after its first thread has begun. */
#define READING_S 2

static int fail(struct error *error, int code)
{
    return error_set(error, code, "%s", strerror(-code));
}

/* A relative path begins where QEMU was started; that is its directory still, unless it has left
 * it. */
static int absolute_path(const struct fsroot *root, pid_t pid, const char *path, unsigned moved,
                         char absolute[PATH_MAX], struct error *error)
{
    char directory[PATH_MAX];
    int length;

    if (*path == '/') {
        length = snprintf(absolute, PATH_MAX, "%s", path);
        return length < PATH_MAX ? 0 : fail(error, -ENAMETOOLONG);
    }
    if (moved)
        return error_set(error, -ENOTDIR,
                         "the path is relative, and QEMU has left the directory (-daemonize or "
                         "-chroot)");

    ssize_t n = fsroot_readlink(root, directory, sizeof(directory), "proc/%d/cwd", (int)pid);

    if (n < 0)
        return fail(error, (int)n);
    if (*directory != '/')
        return error_set(error, -ENOTDIR, "QEMU's directory cannot be reached");
    length = snprintf(absolute, PATH_MAX, "%s/%s", directory, path);
    return length < PATH_MAX ? 0 : fail(error, -ENAMETOOLONG);
}

static bool has_our_mounts(const struct fsroot *root, pid_t pid)
{
    char own[64];
    char its[64];

    return fsroot_readlink(root, own, sizeof(own), "proc/self/ns/mnt") > 0 &&
           fsroot_readlink(root, its, sizeof(its), "proc/%d/ns/mnt", (int)pid) > 0 &&
           strcmp(own, its) == 0;
}

/* After -chroot the old root of QEMU can be reached only if it is this program's. */
static int open_root(const struct fsroot *root, pid_t pid, unsigned moved, struct error *error)
{
    int fd = -1;

    if (!(moved & QEMU_MOVED_ROOT))
        fd = fsroot_openf(root, O_PATH | O_DIRECTORY, "proc/%d/root", (int)pid);
    else if (has_our_mounts(root, pid))
        fd = fsroot_openf(root, O_PATH | O_DIRECTORY, ".");
    else
        return error_set(error, -ENOTDIR, "QEMU has left the root in which it is (-chroot)");
    return fd < 0 ? fail(error, fd) : fd;
}

/* The number of QEMU's own descriptor that the path is: a shell's "-readconfig <(...)", or a file
 * that has no name. -1: it is another path. */
static int descriptor_of(const char *path)
{
    static const char *const formats[] = {"/dev/fd/%u%n", "/proc/self/fd/%u%n"};
    unsigned fd;

    for (size_t i = 0; i < COUNT(formats); i++) {
        int end = 0;

        if (sscanf(path, formats[i], &fd, &end) == 1 && end && path[end] == '\0' && fd <= INT_MAX)
            return (int)fd;
    }
    return strcmp(path, "/dev/stdin") == 0 ? STDIN_FILENO : -1;
}

/* It may be a terminal by now, or a device that does something when it is opened. */
static int open_descriptor(const struct fsroot *root, pid_t pid, int number, struct error *error)
{
    cleanup_close int named = fsroot_openf(root, O_PATH, "proc/%d/fd/%d", (int)pid, number);
    struct stat file;

    if (named < 0 || fstat(named, &file) < 0 || !S_ISREG(file.st_mode))
        return error_set(error, -EINVAL, "not a plain file");

    int fd = fsroot_openf(root, O_RDONLY | O_NONBLOCK, "proc/%d/fd/%d", (int)pid, number);

    return fd < 0 ? fail(error, fd) : fd;
}

static int open_file(const struct fsroot *root, pid_t pid, const char *path, unsigned moved,
                     struct error *error)
{
    const int number = descriptor_of(path);

    if (number >= 0)
        return open_descriptor(root, pid, number, error);

    char absolute[PATH_MAX];
    int rc = absolute_path(root, pid, path, moved, absolute, error);

    if (rc < 0)
        return rc;

    cleanup_close int directory = open_root(root, pid, moved, error);

    if (directory < 0)
        return directory;

    int fd = open_below(directory, absolute);

    return fd < 0 ? fail(error, fd) : fd;
}

/* A process's start is that of its fork, perhaps long before it ran QEMU; its threads other than
 * the first begin after that. 0: not known. */
static double began_s(const struct fsroot *root, pid_t pid)
{
    cleanup_free pid_t *tids = NULL;
    char path[64];
    struct timespec boot;
    struct timespec wall;
    uint64_t ticks = UINT64_MAX;

    snprintf(path, sizeof(path), "proc/%d/task", (int)pid);
    ssize_t n = proc_numbers(root, path, &tids);

    for (ssize_t i = 0; i < n; i++) {
        char text[1024];
        struct proc_stat stat;

        if (tids[i] != pid &&
            fsroot_read(root, text, sizeof(text), "%s/%d/stat", path, (int)tids[i]) > 0 &&
            proc_stat_parse(text, &stat) == 0 && stat.start_ticks < ticks)
            ticks = stat.start_ticks;
    }
    if (ticks == UINT64_MAX || clock_gettime(CLOCK_BOOTTIME, &boot) < 0 ||
        clock_gettime(CLOCK_REALTIME, &wall) < 0)
        return 0;
    return (double)(wall.tv_sec - boot.tv_sec) + (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

static int check_file(const struct fsroot *root, pid_t pid, int fd, struct error *error)
{
    struct stat file;

    if (fstat(fd, &file) < 0)
        return fail(error, -errno);
    if (!S_ISREG(file.st_mode))
        return error_set(error, -EINVAL, "not a plain file");
    if (file.st_size > (off_t)QEMU_CONFIG_MAX_BYTES)
        return fail(error, -EFBIG);

    const double began = root->live ? began_s(root, pid) : 0;

    /* not the time of modification, which a package or a copy may bring along */
    if (began > 0 && (double)file.st_ctim.tv_sec > began + READING_S)
        return error_set(error, -ESTALE, "it was changed after QEMU had read it");
    return 0;
}

static ssize_t read_text(int fd, char **text, struct error *error)
{
    char *all = malloc(QEMU_CONFIG_MAX_BYTES + 1);
    size_t have = 0;
    ssize_t n = 1;

    if (!all)
        return fail(error, -ENOMEM);
    while (n > 0 && have < QEMU_CONFIG_MAX_BYTES) {
        n = read(fd, all + have, QEMU_CONFIG_MAX_BYTES - have);
        have += n > 0 ? (size_t)n : 0;
    }
    if (n < 0) {
        free(all);
        return fail(error, -errno);
    }
    all[have] = '\0';
    *text = all;
    return (ssize_t)have;
}

/* In a captured tree the file is below the process's root. */
static ssize_t read_captured(const struct fsroot *root, pid_t pid, const char *path, char **text,
                             struct error *error)
{
    ssize_t n = fsroot_read_all(root, text, QEMU_CONFIG_MAX_BYTES, "proc/%d/%s/%s", (int)pid,
                                *path == '/' ? "root" : "cwd", path);

    return n < 0 ? fail(error, (int)n) : n;
}

ssize_t qemu_config_file_read(const struct fsroot *root, pid_t pid, const char *path,
                              unsigned moved, char **text, struct error *error)
{
    if (!root->live)
        return read_captured(root, pid, path, text, error);

    cleanup_close int fd = open_file(root, pid, path, moved, error);
    int rc = fd < 0 ? fd : check_file(root, pid, fd, error);

    return rc < 0 ? rc : read_text(fd, text, error);
}
