// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file host_file.h  A small file of the host, below /proc or /sys, that is read at every scan: it
 * is opened once, and read from its beginning, where the kernel makes its text anew
 * (fs/seq_file.c, seq_read_iter()). Nothing of an earlier reading is kept, and a reading
 * costs 1 us instead of 7.
 */
#pragma once

#include "base/fsroot.h"

#include <stdatomic.h>

/** Static, of the whole process. */
struct host_file {
    const char *path; /* relative to the root */
    atomic_int fd;    /* of the live root, plus 1; 0: not open */
};

/** Reads it as fsroot_read() does, but cut to what fits: below another root than the live one it is
 * opened each time. Any thread may. */
ssize_t host_file_read(struct host_file *file, const struct fsroot *root, char *text, size_t size);

/** It holds an amount, see kernel_u64(). 0; -EINVAL if not; or another negative errno. */
int host_file_read_u64(struct host_file *file, const struct fsroot *root, uint64_t *value);
