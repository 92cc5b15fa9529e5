// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file method.h  The ways of asking the kernel which pages of a file are in the page cache.
 *
 * Each is one file with one table. None reads the file's data, and none brings a page in or puts
 * one out.
 *
 *   cachestat  cachestat(2), Linux 6.5: one call for any range, and what is dirty, under writeback,
 *              or was evicted. Of a file of overlayfs it counts nothing, for the pages belong to
 *              the file below (Linux 6.18).
 *   mincore    mincore(2) over a mapping that is never touched: any kernel, page by page; so a file
 *              of a TiB takes some ten seconds, also when it is one hole, for what was read of a
 *              hole is cached like anything else.
 *
 * Both answer a caller that owns the file, has CAP_FOWNER over it, or may write it. For any other
 * caller mincore reports all pages as resident since Linux 5.2 (can_do_mincore() in mm/mincore.c),
 * and cachestat fails with EPERM since 2025 (can_do_cachestat() in mm/filemap.c, commit
 * 5f537664e705, also in stable kernels).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** When to stop: many files, or one of many terabytes, can take longer than the user wants to wait.
 */
struct cache_patience {
    /** Called between two files, and between two pieces of one, at @p position (0 .. 1) of it;
     * false: that is enough. */
    bool (*go_on)(void *context, double position);
    void *context;
};

/** Without a function to ask (NULL) it goes on to the end. */
static inline bool cache_goes_on(const struct cache_patience *patience, double position)
{
    return !patience || patience->go_on(patience->context, position);
}

/** This kernel, or this method, does not say. */
#define CACHE_UNKNOWN UINT64_MAX

/** Pages of a range of a file. */
struct cache_count {
    uint64_t cached;
    uint64_t dirty;     /* of the cached: to be written */
    uint64_t writeback; /* of the cached: being written */
    uint64_t evicted; /* were cached, and the kernel still remembers; for tmpfs: are swapped out */
    uint64_t recently_evicted; /* of the evicted: so lately that to read them again would be a
                                  refault of the working set */
    uint64_t beyond_eof; /* of the cached: behind the end of the file, as with a huge page of tmpfs
                            that is not full */
};

/** Nothing of it known. */
#define CACHE_COUNT_UNKNOWN                                                           \
    ((struct cache_count){CACHE_UNKNOWN, CACHE_UNKNOWN, CACHE_UNKNOWN, CACHE_UNKNOWN, \
                          CACHE_UNKNOWN, CACHE_UNKNOWN})

/** As the pages of a count: all to the last that the file has, also behind its end. mincore, which
 * is asked page by page, counts to the end of the huge page in which the first one lies, and that
 * of tmpfs only. */
#define CACHE_TO_THE_LAST UINT64_MAX

/** A file that is asked about. */
struct cache_target {
    int fd;
    uint64_t pages; /* of its size */
    const struct cache_patience *patience;
};

struct cache_method {
    const char *name;
    /**
     * Counts the pages first .. first + pages - 1 of the file; @p pages is at least 1. Leaves
     * beyond_eof unknown.
     * @return 0, or a negative errno: -EPERM when the kernel does not tell us about this file,
     *         -ENOSYS or -EOPNOTSUPP when the method cannot, -EINTR when the patience is at its
     *         end, and what open files bring with them.
     */
    int (*count)(const struct cache_target *target, uint64_t first, uint64_t pages,
                 struct cache_count *count);
    /**
     * Sets vector[i] to 1 or 0: is page first + i cached? At most CACHE_VECTOR_MAX pages, and only
     * of a file that count() succeeded for. NULL where the method knows numbers only. 0 or a
     * negative errno.
     */
    int (*vector)(const struct cache_target *target, uint64_t first, uint64_t pages,
                  unsigned char *vector);
};

/** 256 MiB of a file. */
#define CACHE_VECTOR_MAX 65536U

extern const struct cache_method cache_cachestat;
extern const struct cache_method cache_mincore;

/** Adds each number; a sum is unknown as soon as one of its parts is. */
void cache_count_add(struct cache_count *sum, const struct cache_count *part);

/** Counts the whole file, what lies behind its end included. As count() of the method. */
int cache_count_file(const struct cache_method *method, const struct cache_target *target,
                     struct cache_count *count);

/** The cached pages that are not behind the end of the file; @p count knows how many are cached. */
uint64_t cache_within_eof(const struct cache_count *count);

/** Share of 0 .. 1, of nothing 0. */
double cache_share(uint64_t part, uint64_t pages);
