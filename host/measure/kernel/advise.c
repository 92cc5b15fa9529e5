// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/advise.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_RANGES 1024             /* UIO_MAXIOV */
#define MAX_CALL_BYTES (1ULL << 30) /* the kernel silently truncates a call to 2 GiB - 4 KiB */

/* The number of ranges that lie entirely in the first @p bytes of the list. */
static uint64_t ranges_done(const struct iovec *range, uint64_t n, size_t bytes)
{
    uint64_t done = 0;

    while (done < n && range[done].iov_len <= bytes)
        bytes -= range[done++].iov_len;
    return done;
}

/* The kernel stops at the first range that it refuses, and returns the bytes before it. A second
 * call that begins at that range returns the error. */
static int advise_once(int pidfd, int advice, const struct iovec *range, uint64_t n)
{
    while (n > 0) {
        ssize_t bytes = syscall(SYS_process_madvise, pidfd, range, n, advice, 0);

        if (bytes < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (bytes < 0)
            return -errno;

        uint64_t done = ranges_done(range, n, (size_t)bytes);

        if (done == 0)
            return -EIO;
        range += done;
        n -= done;
    }
    return 0;
}

static int advise_long_range(int pidfd, int advice, struct iovec range)
{
    while (range.iov_len > 0) {
        struct iovec piece = range;

        if (piece.iov_len > MAX_CALL_BYTES)
            piece.iov_len = MAX_CALL_BYTES;

        int rc = advise_once(pidfd, advice, &piece, 1);

        if (rc < 0)
            return rc;
        range.iov_base = (char *)range.iov_base + piece.iov_len;
        range.iov_len -= piece.iov_len;
    }
    return 0;
}

bool advice_splits(const struct fsroot *root, const struct ram_block *block)
{
    const uint64_t huge = huge_page_bytes();
    char policy[128];

    if (block->backing != RAM_BACKING_SHMEM || block->hva % huge == block->file_offset % huge)
        return false;
    return fsroot_read(root, policy, sizeof(policy),
                       "sys/kernel/mm/transparent_hugepage/shmem_enabled") > 0 &&
           !strstr(policy, "[never]") && !strstr(policy, "[deny]");
}

int advise_permitted(struct error *why)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

    if (syscall(SYS_capget, &header, data) == 0 &&
        (data[CAP_TO_INDEX(CAP_SYS_NICE)].effective & CAP_TO_MASK(CAP_SYS_NICE)))
        return 0;
    return error_set(
        why, -EPERM,
        "process_madvise: not permitted for another process; it needs CAP_SYS_NICE and "
        "CAP_SYS_PTRACE: run as root");
}

int process_advise(int pidfd, int advice, const struct iovec *range, uint64_t n)
{
    for (uint64_t at = 0; at < n;) {
        uint64_t bytes = 0;
        uint64_t count = 0;

        while (at + count < n && count < MAX_RANGES &&
               bytes + range[at + count].iov_len <= MAX_CALL_BYTES)
            bytes += range[at + count++].iov_len;

        int rc = count ? advise_once(pidfd, advice, range + at, count)
                       : advise_long_range(pidfd, advice, range[at]);

        if (rc < 0)
            return rc;
        at += count ? count : 1;
    }
    return 0;
}
