// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file fsroot.h  All access to /proc, /sys and /run: paths relative to a root.
 *
 * With "/" as the root this is the running system; with a directory that holds a captured or made
 * tree, the same code reads that tree. The unit tests see other machines in this way. Paths are
 * printf-formatted and relative ("proc/%d/stat"). All functions return 0, a count or a file
 * descriptor, or a negative errno.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct fsroot {
    int dirfd;
    bool live; /* true for "/": the kernel's own files, not a captured tree */
};

/** Opens the root at @p path; close it with fsroot_close(). */
int fsroot_open(struct fsroot *root, const char *path);
void fsroot_close(struct fsroot *root);
#define cleanup_root __attribute__((cleanup(fsroot_close)))

/** Opens "/". 0, or a negative errno with the message. */
int fsroot_open_host(struct fsroot *root, struct error *error);

/** openat() below the root (O_CLOEXEC is added). Returns a file descriptor the caller closes. */
int fsroot_openf(const struct fsroot *root, int flags, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Reads a small text file, ends it with NUL and strips trailing newlines; returns its length.
 * -EFBIG if it does not fit into @p size - 1 bytes. */
ssize_t fsroot_read(const struct fsroot *root, char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/** Reads a file whole, up to @p max bytes (-EFBIG beyond), into an allocation that the caller
 * frees; a NUL follows the last byte and is not counted. Returns the length. */
ssize_t fsroot_read_all(const struct fsroot *root, char **data, size_t max, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/** Reads a file that holds one amount, see kernel_u64(). -EINVAL if it does not. */
int fsroot_read_u64(const struct fsroot *root, uint64_t *value, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** readlinkat(), NUL-terminated; returns the length, -ENAMETOOLONG if it does not fit. */
ssize_t fsroot_readlink(const struct fsroot *root, char *target, size_t size, const char *format,
                        ...) __attribute__((format(printf, 4, 5)));

bool fsroot_exists(const struct fsroot *root, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
