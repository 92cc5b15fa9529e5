// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/huge_split.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "measure/kernel/advise.h"
#include "measure/kernel/pagemap.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ADVISE_COLLAPSE 25 /* Linux 6.1; Debian 12's own headers are older */
#define SPLIT_TRIES 3
#define JOIN_PASSES 20
#define JOIN_PAUSE_MS 50
/* The number of base pages in a huge page of x86-64; the largest huge page has 8192. */
#define ENTRIES_AT_ONCE 512

int huge_split(int pidfd, int pagemap_fd, uint64_t hva)
{
    struct iovec part = {.iov_base = (void *)(uintptr_t)hva, .iov_len = base_page_bytes()};

    for (unsigned i = 0; i < SPLIT_TRIES; i++) {
        struct page_mapping mapping = {0};
        int rc = process_advise(pidfd, ADVISE_COLD, &part, 1);

        if (rc == 0)
            rc = pagemap_mapping(pagemap_fd, hva, &mapping);
        if (rc < 0 || !mapping.huge)
            return rc;
    }
    return -EBUSY;
}

/* Does not use process_advise(), which would repeat for ever on EAGAIN, an error that can last
 * here. */
int huge_join(int pidfd, uint64_t hva)
{
    struct iovec all = {.iov_base = (void *)(uintptr_t)hva, .iov_len = huge_page_bytes()};
    ssize_t n;

    do
        n = syscall(SYS_process_madvise, pidfd, &all, 1UL, ADVISE_COLLAPSE, 0);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : 0;
}

/* Returns true if some base page is neither present nor swapped, although every part of a huge page
 * was present. A zero page is present. */
static int has_holes(int pagemap_fd, uint64_t hva)
{
    uint64_t entry[ENTRIES_AT_ONCE];
    const uint64_t first = base_pages(hva);
    const uint64_t end = first + huge_page_pages();

    for (uint64_t page = first; page < end;) {
        uint64_t n = smaller(end - page, ENTRIES_AT_ONCE);
        ssize_t got = pread(pagemap_fd, entry, n * sizeof(*entry), (off_t)(page * sizeof(*entry)));

        if (got != (ssize_t)(n * sizeof(*entry)))
            /* the pagemap of a process that ended reads as empty */
            return got < 0 ? -errno : -ESRCH;
        for (uint64_t i = 0; i < n; i++)
            if (!(entry[i] & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED)))
                return 1;
        page += n;
    }
    return 0;
}

static int try_join(int pidfd, int pagemap_fd, uint64_t hva)
{
    int rc = has_holes(pagemap_fd, hva);

    return rc == 0 ? huge_join(pidfd, hva) : rc;
}

static size_t join_pass(int pidfd, int pagemap_fd, uint64_t *hva, size_t n)
{
    size_t left = 0;

    for (size_t i = 0; i < n; i++) {
        if (!hva[i])
            continue;

        int rc = try_join(pidfd, pagemap_fd, hva[i]);

        if (rc >= 0 || rc == -ESRCH)
            hva[i] = 0;
        else
            left++;
    }
    return left;
}

size_t huge_join_all(int pidfd, int pagemap_fd, uint64_t *hva, size_t n)
{
    size_t left = join_pass(pidfd, pagemap_fd, hva, n);

    for (unsigned i = 1; left > 0 && i < JOIN_PASSES; i++) {
        clock_sleep(JOIN_PAUSE_MS * 1000000ULL);
        left = join_pass(pidfd, pagemap_fd, hva, n);
    }
    return left;
}
