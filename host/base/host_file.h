// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file host_file.h  A small file below /proc or /sys that is read at every scan. It stays open,
 * and is read from offset 0, for which the kernel generates the text anew (fs/seq_file.c,
 * seq_read_iter()). A reading costs 1 us instead of 7.
 */
#pragma once

#include "base/fsroot.h"

#include <stdatomic.h>

/** The struct must be static; it serves the whole process. */
struct host_file {
    const char *path; /* relative to the root */
    atomic_int fd;    /* descriptor in the live root, plus 1; 0: not open */
};

/** Reads the file as fsroot_read() does, but truncates it to @p size. Below a root other than the
 * live one, the file is opened each time. Any thread may call it. */
ssize_t host_file_read(struct host_file *file, const struct fsroot *root, char *text, size_t size);

/** Reads a file that holds an amount, see kernel_u64(). 0; -EINVAL if it does not; or another
 * negative errno. */
int host_file_read_u64(struct host_file *file, const struct fsroot *root, uint64_t *value);
