// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/whole_file.h"

#include "base/cleanup.h"
#include "base/write_all.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens a file without a name in the directory of @p path (open(2), O_TMPFILE), so that a killed
 * process leaves no file. */
static int open_nameless(const char *path)
{
    char directory[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int n = slash ? snprintf(directory, sizeof(directory), "%.*s/", (int)(slash - path), path)
                  : snprintf(directory, sizeof(directory), ".");
    int fd;

    if (n < 0 || (size_t)n >= sizeof(directory))
        return -ENAMETOOLONG;
    fd = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    return fd < 0 ? -errno : fd;
}

/* Some file systems, such as NFS, do not support O_TMPFILE; the file then has a name from the
 * start. */
static int open_temporary(const char *path, const char *name, bool *named)
{
    int fd = open_nameless(path);

    *named = fd == -EOPNOTSUPP || fd == -EISDIR;
    if (!*named)
        return fd;
    fd = open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    return fd < 0 ? -errno : fd;
}

/* linkat(2) does not replace a file, so the file gets a temporary name first. */
static int give_name(int fd, const char *name)
{
    char from[64];

    snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, from, AT_FDCWD, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

static int replace(const char *path, const char *text, size_t size)
{
    char name[PATH_MAX];
    bool named;
    int rc;

    if (snprintf(name, sizeof(name), "%s.%ld.tmp", path, (long)getpid()) >= (int)sizeof(name))
        return -ENAMETOOLONG;
    unlink(name); /* left by an earlier process with this ID */

    cleanup_close int fd = open_temporary(path, name, &named);

    if (fd < 0)
        return fd;
    rc = write_all(fd, text, size);
    if (rc == 0 && fsync(fd) < 0)
        rc = -errno;
    if (rc == 0 && !named)
        rc = give_name(fd, name);
    if (rc == 0 && rename(name, path) < 0)
        rc = -errno;
    if (rc < 0)
        unlink(name);
    return rc;
}

static int write_into(const char *path, const char *text, size_t size)
{
    cleanup_close int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd < 0 ? -errno : write_all(fd, text, size);
}

int whole_file_write(const char *path, const char *text, size_t size, struct error *error)
{
    struct stat status;
    bool special = stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
    /* rename(2) would replace a link, such as /dev/stdout, by the file. */
    cleanup_free char *target = special ? NULL : realpath(path, NULL);
    int rc = special ? write_into(path, text, size) : replace(target ? target : path, text, size);

    return rc < 0 ? error_set(error, rc, "%s: %s", path, strerror(-rc)) : 0;
}
