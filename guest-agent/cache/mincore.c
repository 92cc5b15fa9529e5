// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file mincore.c  mincore(2) over a mapping that is never touched. See method.h.
 *
 * To a caller without permission the kernel reports every page of a mapping as resident. To detect
 * this, we also query a page far beyond the end of the file, where nothing can be cached: if the
 * kernel reports that page as resident, its answers are meaningless.
 *
 * Because no page of the mapping is ever touched, a file that shrinks meanwhile causes no SIGBUS.
 */
#include "cache/method.h"

#include "base/page_sizes.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

/* Distance behind the end, larger than any huge page, so that none can extend that far. */
#define BEHIND_BYTES ((uint64_t)1 << 30)

/* The number of pages that one page table maps: 512 of 4 KiB. */
static uint64_t page_table_pages(void)
{
    return base_page_bytes() / sizeof(uint64_t);
}

static int read_vector(const struct cache_target *target, uint64_t first, uint64_t pages,
                       unsigned char *vector)
{
    size_t bytes = (size_t)(pages * base_page_bytes());
    void *at = mmap(NULL, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, target->fd,
                    (off_t)(first * base_page_bytes()));

    if (at == MAP_FAILED)
        return -errno;

    int rc = mincore(at, bytes, vector) < 0 ? -errno : 0;

    munmap(at, bytes);
    for (uint64_t i = 0; rc == 0 && i < pages; i++)
        vector[i] &= 1; /* the other bits are reserved */
    return rc;
}

/* Returns 0 if the kernel reports the truth about this file, otherwise -EPERM. */
static int truthful(const struct cache_target *target)
{
    struct stat stat;
    unsigned char resident = 0;

    if (fstat(target->fd, &stat) < 0)
        return -errno;

    /* The size that stat reports for a block device is 0. */
    uint64_t size_bytes = target->pages * base_page_bytes();
    uint64_t behind;

    size_bytes = (uint64_t)stat.st_size > size_bytes ? (uint64_t)stat.st_size : size_bytes;
    behind = (size_bytes / BEHIND_BYTES + 2) * BEHIND_BYTES;
    int rc = read_vector(target, behind / base_page_bytes(), 1, &resident);

    return rc < 0 ? rc : resident ? -EPERM : 0;
}

/* Adds the resident pages of one window to *resident. */
static int count_window(const struct cache_target *target, uint64_t first, uint64_t pages,
                        uint64_t *resident)
{
    unsigned char vector[CACHE_VECTOR_MAX];
    int rc = read_vector(target, first, pages, vector);

    /* The analyser takes errno for 0 where mmap() failed. */
    for (uint64_t i = 0; rc == 0 && i < pages; i++)
        *resident += vector[i]; // NOLINT(clang-analyzer-core.uninitialized.Assign)
    return rc;
}

/* Returns true if the file, which ends at page @p end, may have pages behind its end. This is only
 * checked for tmpfs: other file systems are not known to have any, and querying each page of a huge
 * page would cost more than the rest of a small file. On tmpfs, blocks are pages: there are more of
 * them than the file has, or, in a file with holes, at least those of one huge page. */
static bool reaches_behind(int fd, uint64_t end)
{
    struct statfs fs;
    struct stat stat;

    if (fstatfs(fd, &fs) < 0 || fs.f_type != TMPFS_MAGIC || fstat(fd, &stat) < 0)
        return false;

    uint64_t pages = (uint64_t)stat.st_blocks * 512 / base_page_bytes();

    return pages > end || pages >= page_table_pages();
}

/* If the file has pages, counting them has already shown whether the kernel reports the truth. */
static int count_behind(const struct cache_target *target, uint64_t first, uint64_t *resident)
{
    int rc = first == 0 ? truthful(target) : 0;

    if (rc < 0 || !reaches_behind(target->fd, first))
        return rc;

    const uint64_t end = (first | (page_table_pages() - 1)) + 1; /* a power of two */

    return count_window(target, first, end - first, resident);
}

/* Counts one window at a time. */
static int count_within(const struct cache_target *target, uint64_t first, uint64_t pages,
                        uint64_t *resident)
{
    int rc = truthful(target);

    for (uint64_t done = 0; rc == 0 && done < pages; done += CACHE_VECTOR_MAX) {
        uint64_t left = pages - done;

        if (!cache_goes_on(target->patience, cache_share(first + done, target->pages)))
            return -EINTR;
        rc = count_window(target, first + done, left < CACHE_VECTOR_MAX ? left : CACHE_VECTOR_MAX,
                          resident);
    }
    return rc;
}

static int count_pages(const struct cache_target *target, uint64_t first, uint64_t pages,
                       struct cache_count *count)
{
    uint64_t resident = 0;
    int rc = pages == CACHE_TO_THE_LAST ? count_behind(target, first, &resident)
                                        : count_within(target, first, pages, &resident);

    if (rc < 0)
        return rc;
    *count = CACHE_COUNT_UNKNOWN;
    count->cached = resident;
    return 0;
}

const struct cache_method cache_mincore = {
    .name = "mincore", .count = count_pages, .vector = read_vector};
