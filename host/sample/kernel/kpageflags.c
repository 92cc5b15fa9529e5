// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file kpageflags.c  See kpageflags.h. */
#include "sample/kernel/kpageflags.h"

#include "sample/kernel/u64_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define BRIDGE 8
#define MAX_ORDER 18 /* 1 GiB */

int kpagecount_open(const struct fsroot *root, struct error *error)
{
    int fd = fsroot_openf(root, O_RDONLY, "proc/kpagecount");

    if (fd < 0)
        return error_set(error, fd,
                         "/proc/kpagecount: %s (needs root and CONFIG_PROC_PAGE_MONITOR)",
                         strerror(-fd));
    return fd;
}

int kpageflags_open(const struct fsroot *root, struct error *error)
{
    int fd = fsroot_openf(root, O_RDONLY, "proc/kpageflags");

    if (fd < 0)
        return error_set(error, fd,
                         "/proc/kpageflags: %s (needs root and CONFIG_PROC_PAGE_MONITOR)",
                         strerror(-fd));
    return fd;
}

int kpageflags_read(int fd, const uint64_t *pfn, uint64_t n, uint64_t *flags)
{
    return u64_file_gather(fd, pfn, n, BRIDGE, flags);
}

int kpageflags_find_head(int fd, uint64_t pfn, uint64_t *head, uint64_t *head_flags)
{
    for (unsigned k = 1; k <= MAX_ORDER; k++) {
        uint64_t candidate = pfn & ~((1ULL << k) - 1);
        uint64_t flags;
        int rc = kpageflags_read(fd, &candidate, 1, &flags);

        if (rc < 0)
            return rc;
        if (flags & KPF_COMPOUND_HEAD) {
            *head = candidate;
            *head_flags = flags;
            return 0;
        }
    }
    return -ENOENT; /* split while we looked */
}

int kpageflags_folio_order(int fd, uint64_t head, unsigned *order)
{
    /* The tail at head + 2^k exists for every k below the order, and not at the order itself: that
     * frame begins something else, which may be another head but never a tail. */
    for (*order = 0; *order < MAX_ORDER; ++*order) {
        uint64_t pfn = head + (1ULL << *order);
        uint64_t flags;
        int rc = kpageflags_read(fd, &pfn, 1, &flags);

        if (rc < 0)
            return rc;
        if (!(flags & KPF_COMPOUND_TAIL))
            break;
    }
    return 0;
}
