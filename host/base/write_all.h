// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file write_all.h  write(2) until everything is written. */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

/** Writes all @p size bytes at @p data, also after a signal. Returns 0 or a negative errno; -EIO if
 * write(2) returns 0. */
static inline int write_all(int fd, const void *data, size_t size)
{
    const char *at = data;

    while (size > 0) {
        ssize_t n = write(fd, at, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        at += n;
        size -= (size_t)n;
    }
    return 0;
}
