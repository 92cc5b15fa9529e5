// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/u64_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define RUN_ENTRIES 4096 /* 32 KiB per read; the idle bitmap returns 4 KiB at most */

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

/* The end of the consecutive entries that begin at @p at. */
static uint64_t end_of_consecutive(const uint64_t *index, uint64_t at, uint64_t n)
{
    uint64_t end = at + 1;

    while (end < n && index[end] == index[end - 1] + 1 && end - at < RUN_ENTRIES)
        end++;
    return end;
}

/* The end of the run that begins at @p at and includes the entries before @p end: the entries are
 * ascending, with gaps of at most @p bridge. */
static uint64_t end_of_run(const uint64_t *index, uint64_t at, uint64_t end, uint64_t n,
                           uint64_t bridge)
{
    while (end < n && index[end] - index[end - 1] <= bridge + 1 &&
           index[end] - index[at] < RUN_ENTRIES)
        end++;
    return end;
}

static int gather_run(int fd, const uint64_t *index, uint64_t n, uint64_t *out)
{
    uint64_t buffer[RUN_ENTRIES];
    int rc = u64_file_read(fd, index[0], index[n - 1] - index[0] + 1, buffer);

    for (uint64_t i = 0; rc == 0 && i < n; i++)
        // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): u64_file_read() fills it
        out[i] = buffer[index[i] - index[0]];
    return rc;
}

/* a census reads long stretches without gaps: read them directly into @p out */
int u64_file_gather(int fd, const uint64_t *index, uint64_t n, uint64_t bridge, uint64_t *out)
{
    int rc = 0;

    for (uint64_t at = 0; rc == 0 && at < n;) {
        uint64_t straight = end_of_consecutive(index, at, n);
        uint64_t end = end_of_run(index, at, straight, n, bridge);

        rc = end == straight ? u64_file_read(fd, index[at], end - at, out + at)
                             : gather_run(fd, index + at, end - at, out + at);
        at = end;
    }
    return rc;
}
