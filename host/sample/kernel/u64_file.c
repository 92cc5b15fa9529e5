// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file u64_file.c  See u64_file.h. */
#include "sample/kernel/u64_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define RUN_ENTRIES 4096 /* 32 KiB a transfer; the idle bitmap moves 4 KiB at most and says so */

int u64_file_read(int fd, uint64_t first, uint64_t n, uint64_t *buffer)
{
    size_t want = n * sizeof(*buffer);
    size_t have = 0;

    while (have < want) {
        ssize_t got = pread(fd, (char *)buffer + have, want - have,
                            (off_t)(first * sizeof(*buffer) + have));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        have += (size_t)got;
    }
    memset((char *)buffer + have, 0, want - have);
    return 0;
}

int u64_file_gather(int fd, const uint64_t *index, uint64_t n, uint64_t bridge, uint64_t *out)
{
    uint64_t buffer[RUN_ENTRIES];

    for (uint64_t at = 0; at < n;) {
        uint64_t first = index[at];
        uint64_t end = at + 1;

        while (end < n && index[end] >= index[end - 1] &&
               index[end] - index[end - 1] <= bridge + 1 && index[end] - first < RUN_ENTRIES)
            end++;

        int rc = u64_file_read(fd, first, index[end - 1] - first + 1, buffer);

        if (rc < 0)
            return rc;
        for (; at < end; at++)
            // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): u64_file_read() fills it
            out[at] = buffer[index[at] - first];
    }
    return 0;
}
