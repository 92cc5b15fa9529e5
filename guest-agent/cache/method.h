// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file method.h  Methods to find which pages of a file are in the page cache.
 *
 * Each is one file with one table. No method reads the file's data, or changes which pages are
 * cached.
 *
 *   cachestat  cachestat(2), Linux 6.5: one call for any range, and what is dirty, under writeback,
 *              or was evicted. Of a file of overlayfs it counts nothing, for the pages belong to
 *              the file below (Linux 6.18).
 *   mincore    mincore(2) over a mapping that is never touched: any kernel, page by page; so a file
 *              of a TiB takes some ten seconds, also when it is one hole, for what was read of a
 *              hole is cached like anything else.
 *
 * Both work for a caller that owns the file, has CAP_FOWNER over it, or may write it. For any other
 * caller mincore reports all pages as resident since Linux 5.2 (can_do_mincore() in mm/mincore.c),
 * and cachestat fails with EPERM since 2025 (can_do_cachestat() in mm/filemap.c, commit
 * 5f537664e705, also in stable kernels).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Callback that ends a count early: many files, or one of many terabytes, can take longer than the
 * user wants to wait.
 */
struct cache_patience {
    /** Called between two files, and between two pieces of one file, at @p position (0 .. 1) in it.
     * Returns false to stop. */
    bool (*go_on)(void *context, double position);
    void *context;
};

/** Returns whether to go on; without a function (NULL), always true. */
static inline bool cache_goes_on(const struct cache_patience *patience, double position)
{
    return !patience || patience->go_on(patience->context, position);
}

/** Not known, because the kernel or the method does not report it. */
#define CACHE_UNKNOWN UINT64_MAX

/** Counts of pages in a range of a file. */
struct cache_count {
    uint64_t cached;
    uint64_t dirty;     /* cached pages that are dirty */
    uint64_t writeback; /* cached pages that are under writeback */
    /* pages that were evicted, as far as the kernel remembers; for tmpfs: pages that are swapped
     * out */
    uint64_t evicted;
    /* evicted pages whose reading would be a refault of the working set */
    uint64_t recently_evicted;
    /* cached pages behind the end of the file, as in a huge page of tmpfs that is not full */
    uint64_t beyond_eof;
};

/** A count with all members unknown. */
#define CACHE_COUNT_UNKNOWN                                                           \
    ((struct cache_count){CACHE_UNKNOWN, CACHE_UNKNOWN, CACHE_UNKNOWN, CACHE_UNKNOWN, \
                          CACHE_UNKNOWN, CACHE_UNKNOWN})

/** A number of pages that means: count to the file's last cached page, even beyond the file's end.
 * mincore checks pages one by one, so it counts beyond the end only for tmpfs, and only to the end
 * of the huge page that contains the first page of the count. */
#define CACHE_TO_THE_LAST UINT64_MAX

/** A file whose pages are counted. */
struct cache_target {
    int fd;
    uint64_t pages; /* size of the file */
    const struct cache_patience *patience;
};

struct cache_method {
    const char *name;
    /**
     * Counts the pages first .. first + pages - 1 of the file; @p pages is at least 1. Leaves
     * beyond_eof unknown.
     * @return 0, or a negative errno: -EPERM if the kernel refuses to report on this file, -ENOSYS
     *         or -EOPNOTSUPP if the method cannot be used, -EINTR if the patience ended it, or an
     *         error of open files.
     */
    int (*count)(const struct cache_target *target, uint64_t first, uint64_t pages,
                 struct cache_count *count);
    /**
     * Sets vector[i] to 1 if page first + i is cached, else to 0. At most CACHE_VECTOR_MAX pages,
     * and only after count() succeeded for the file. NULL if the method only has counts. Returns 0
     * or a negative errno.
     */
    int (*vector)(const struct cache_target *target, uint64_t first, uint64_t pages,
                  unsigned char *vector);
};

/** 256 MiB of a file. */
#define CACHE_VECTOR_MAX 65536U

extern const struct cache_method cache_cachestat;
extern const struct cache_method cache_mincore;

/** Adds each number; if one part is unknown, so is the sum. */
void cache_count_add(struct cache_count *sum, const struct cache_count *part);

/** Counts the whole file, including pages behind its end. Returns as the method's count(). */
int cache_count_file(const struct cache_method *method, const struct cache_target *target,
                     struct cache_count *count);

/** The cached pages that are not behind the end of the file; @p count must have .cached. */
uint64_t cache_within_eof(const struct cache_count *count);

/** Returns part / pages, 0 .. 1; 0 if @p pages is 0. */
double cache_share(uint64_t part, uint64_t pages);
