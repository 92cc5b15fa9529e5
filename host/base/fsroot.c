// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/fsroot.h"

#include "base/cleanup.h"
#include "base/kernel_number.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int fsroot_open(struct fsroot *root, const char *path)
{
    root->dirfd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    root->live = strcmp(path, "/") == 0;
    return root->dirfd < 0 ? -errno : 0;
}

int fsroot_open_host(struct fsroot *root, struct error *error)
{
    int rc = fsroot_open(root, "/");

    return rc < 0 ? error_set(error, rc, "/: %s", strerror(-rc)) : 0;
}

void fsroot_close(struct fsroot *root)
{
    if (root->dirfd >= 0)
        close(root->dirfd);
    root->dirfd = -1;
}

static int format_path(char path[PATH_MAX], const char *format, va_list args)
{
    int length = vsnprintf(path, PATH_MAX, format, args);

    return length < 0 || length >= PATH_MAX ? -ENAMETOOLONG : 0;
}

/* Every variadic function below formats its arguments into "path", or returns the error. */
#define FORMAT_PATH_OR_RETURN(path, format)         \
    char path[PATH_MAX];                            \
    do {                                            \
        va_list args_;                              \
        va_start(args_, format);                    \
        int rc_ = format_path(path, format, args_); \
        va_end(args_);                              \
        if (rc_ < 0)                                \
            return rc_;                             \
    } while (0)

static int open_path(const struct fsroot *root, int flags, const char *path)
{
    int fd = openat(root->dirfd, path, flags | O_CLOEXEC, 0);

    return fd < 0 ? -errno : fd;
}

int fsroot_openf(const struct fsroot *root, int flags, const char *format, ...)
{
    FORMAT_PATH_OR_RETURN(path, format);
    return open_path(root, flags, path);
}

/* Reads until end of file or until @p size bytes are there; returns the number read. */
static ssize_t read_up_to(int fd, char *data, size_t size)
{
    size_t have = 0;

    while (have < size) {
        ssize_t n = read(fd, data + have, size - have);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        have += (size_t)n;
    }
    return (ssize_t)have;
}

static ssize_t read_path(const struct fsroot *root, char *text, size_t size, const char *path)
{
    cleanup_close int fd = open_path(root, O_RDONLY, path);

    if (fd < 0)
        return fd;

    ssize_t n = read_up_to(fd, text, size);

    if (n < 0)
        return n;
    if ((size_t)n == size)
        return -EFBIG;
    while (n > 0 && text[n - 1] == '\n')
        n--;
    text[n] = '\0';
    return n;
}

ssize_t fsroot_read(const struct fsroot *root, char *text, size_t size, const char *format, ...)
{
    FORMAT_PATH_OR_RETURN(path, format);
    return read_path(root, text, size, path);
}

ssize_t fsroot_read_all(const struct fsroot *root, char **data, size_t max, const char *format, ...)
{
    FORMAT_PATH_OR_RETURN(path, format);
    cleanup_close int fd = open_path(root, O_RDONLY, path);

    if (fd < 0)
        return fd;

    cleanup_free char *buffer = NULL;
    size_t have = 0;
    size_t room = 0;

    for (;;) {
        room = room ? room * 2 : 16384;
        char *larger = realloc(buffer, room);

        if (!larger)
            return -ENOMEM;
        buffer = larger;

        ssize_t n = read_up_to(fd, buffer + have, room - 1 - have);

        if (n < 0)
            return n;
        have += (size_t)n;
        if (have > max)
            return -EFBIG;
        if (have < room - 1)
            break;
    }
    buffer[have] = '\0';
    *data = buffer;
    buffer = NULL;
    return (ssize_t)have;
}

int fsroot_read_u64(const struct fsroot *root, uint64_t *value, const char *format, ...)
{
    FORMAT_PATH_OR_RETURN(path, format);
    char text[32];
    ssize_t n = read_path(root, text, sizeof(text), path);

    return n < 0 ? (int)n : kernel_whole_u64(text, value);
}

ssize_t fsroot_readlink(const struct fsroot *root, char *target, size_t size, const char *format,
                        ...)
{
    FORMAT_PATH_OR_RETURN(path, format);
    ssize_t n = readlinkat(root->dirfd, path, target, size);

    if (n < 0)
        return -errno;
    if ((size_t)n >= size)
        return -ENAMETOOLONG;
    target[n] = '\0';
    return n;
}

bool fsroot_exists(const struct fsroot *root, const char *format, ...)
{
    char path[PATH_MAX];
    va_list args;

    va_start(args, format);
    int rc = format_path(path, format, args);
    va_end(args);
    return rc == 0 && faccessat(root->dirfd, path, F_OK, 0) == 0;
}
