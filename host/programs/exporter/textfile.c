// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/exporter/textfile.h"

#include "base/write_all.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int temporary_name(char name[PATH_MAX], const char *path)
{
    int n = snprintf(name, PATH_MAX, "%s.tmp", path);

    return n > 0 && n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* Follows no link, and writes into no existing file: the file is new. */
static int write_new(const char *name, const char *text, size_t size)
{
    int fd;
    int rc;

    unlink(name);
    fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return -errno;
    rc = fchmod(fd, 0644) < 0 ? -errno : write_all(fd, text, size);
    if (close(fd) < 0 && rc == 0)
        rc = -errno;
    return rc;
}

int textfile_write(const char *path, const char *text, size_t size, struct error *error)
{
    char name[PATH_MAX];
    int rc = temporary_name(name, path);

    if (rc == 0)
        rc = write_new(name, text, size);
    if (rc == 0 && rename(name, path) < 0)
        rc = -errno;
    if (rc == 0)
        return 0;
    unlink(name);
    return error_set(error, rc, "%s: %s", path, strerror(-rc));
}

void textfile_remove(const char *path)
{
    char name[PATH_MAX];

    unlink(path);
    if (temporary_name(name, path) == 0)
        unlink(name);
}
