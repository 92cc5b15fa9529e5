// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file capture.c  See capture.h. */
#include "cli/capture.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_FILE_BYTES (16U << 20)

static void fail(struct capture *capture, const char *path)
{
    if (capture->rc == 0)
        capture->rc = error_set(&capture->error, -errno, "%s: %s", path, strerror(errno));
}

int capture_begin(struct capture *capture, const struct fsroot *root, const char *path,
                  struct error *error)
{
    *capture = (struct capture){.root = root, .dirfd = -1};
    if (mkdir(path, 0700) < 0)
        return error_set(error, -errno, "%s: %s", path, strerror(errno));
    capture->dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return capture->dirfd < 0 ? error_set(error, -errno, "%s: %s", path, strerror(errno)) : 0;
}

static void make_parents(struct capture *capture, const char *path)
{
    char parent[PATH_MAX];

    snprintf(parent, sizeof(parent), "%s", path);
    for (char *slash = strchr(parent, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdirat(capture->dirfd, parent, 0700) < 0 && errno != EEXIST)
            fail(capture, parent);
        *slash = '/';
    }
}

void capture_text(struct capture *capture, const char *name, const char *text, size_t length)
{
    make_parents(capture, name);

    cleanup_close int fd = openat(capture->dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                                  0600);
    size_t done = 0;

    while (fd >= 0 && done < length) {
        ssize_t n = write(fd, text + done, length - done);

        if (n < 0)
            break;
        done += (size_t)n;
    }
    if (fd < 0 || done < length)
        fail(capture, name);
    else
        capture->n_files++;
}

#define FORMAT_PATH(path, format)                     \
    char path[PATH_MAX];                              \
    do {                                              \
        va_list args_;                                \
        va_start(args_, format);                      \
        vsnprintf(path, sizeof(path), format, args_); \
        va_end(args_);                                \
    } while (0)

void capture_file(struct capture *capture, const char *format, ...)
{
    FORMAT_PATH(path, format);
    cleanup_free char *data = NULL;
    ssize_t n = fsroot_read_all(capture->root, &data, MAX_FILE_BYTES, "%s", path);

    if (n >= 0)
        capture_text(capture, path, data, (size_t)n);
}

void capture_link(struct capture *capture, const char *format, ...)
{
    FORMAT_PATH(path, format);
    char target[PATH_MAX];

    if (fsroot_readlink(capture->root, target, sizeof(target), "%s", path) < 0)
        return;
    make_parents(capture, path);
    if (symlinkat(target, capture->dirfd, path) < 0)
        fail(capture, path);
    else
        capture->n_files++;
}

void capture_each(struct capture *capture, const char *directory,
                  void (*each)(struct capture *capture, const char *directory, const char *name))
{
    int fd = fsroot_openf(capture->root, O_RDONLY | O_DIRECTORY, "%s", directory);

    if (fd < 0)
        return;

    cleanup_dir DIR *dir = fdopendir(fd);
    struct dirent *entry;

    if (!dir) {
        close(fd);
        return;
    }
    while ((entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            each(capture, directory, entry->d_name);
}

int capture_end(struct capture *capture, struct error *error)
{
    cleanup_close_at(&capture->dirfd);
    if (capture->rc < 0 && error)
        *error = capture->error;
    return capture->rc;
}
