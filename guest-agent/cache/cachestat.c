// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cachestat.c  cachestat(2), which glibc does not declare yet. See method.h. */
#include "cache/method.h"

#include "base/page_sizes.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_cachestat
#define SYS_cachestat 451 /* the same on every architecture: include/uapi/asm-generic/unistd.h */
#endif

/* struct cachestat_range and struct cachestat of include/uapi/linux/mman.h, which older headers do
 * not have either. */
struct range {
    uint64_t offset;
    uint64_t length; /* 0 would mean all pages, including those behind the end of the file */
};

struct answer {
    uint64_t cached;
    uint64_t dirty;
    uint64_t writeback;
    uint64_t evicted;
    uint64_t recently_evicted;
};

/* Uses one call for any size: it takes time only for cached pages, which memory limits. */
static int count_pages(const struct cache_target *target, uint64_t first, uint64_t pages,
                       struct cache_count *count)
{
    struct range range = {first * base_page_bytes(),
                          pages == CACHE_TO_THE_LAST ? 0 : pages * base_page_bytes()};
    struct answer answer;

    if (syscall(SYS_cachestat, target->fd, &range, &answer, 0U) < 0)
        return -errno;
    *count = (struct cache_count){.cached = answer.cached,
                                  .dirty = answer.dirty,
                                  .writeback = answer.writeback,
                                  .evicted = answer.evicted,
                                  .recently_evicted = answer.recently_evicted,
                                  .beyond_eof = CACHE_UNKNOWN};
    return 0;
}

const struct cache_method cache_cachestat = {.name = "cachestat", .count = count_pages};
