// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file look.h  One file: how much of it is in the page cache, or why that cannot be known. */
#pragma once

#include "base/fsroot.h"
#include "cache/method.h"
#include "cache/runs.h"

#include <sys/stat.h>

#define CACHE_PARTS_MAX 16

/** The request, the same for each file. */
struct cache_question {
    const struct fsroot *root;         /* whose proc/self/fd reopens what O_PATH found */
    const struct cache_method *method; /* NULL: cachestat, or mincore where that cannot tell */
    unsigned parts;                    /* also in so many parts of the file; 0 .. CACHE_PARTS_MAX */
    bool runs;                         /* also which pages */
    const struct cache_patience *patience;
};

struct cache_file {
    char *name;
    uint64_t size_bytes;
    uint64_t pages;           /* of its size */
    struct cache_count count; /* .cached is CACHE_UNKNOWN exactly when .unknown says why */
    const char *unknown;      /* static text */
    const char *method;       /* who counted; "" when there was nothing to count */
    uint64_t *part;           /* cached pages of each part; NULL when not asked, or not known */
    struct cache_runs runs;
};

/**
 * Looks at the regular file, or the block device, behind @p path_fd, which was opened with O_PATH;
 * @p stat is what fstat() says of it. Empty files and those that are made while they are read
 * (proc, sysfs and their like) are not opened, and hugetlbfs is not asked: there a file's blocks
 * are its pages. The access time is left alone where the file is ours (O_NOATIME).
 * @return 0, also when the answer is "unknown"; then *file must be given to cache_file_free().
 * -ENOMEM.
 */
int cache_look(const struct cache_question *question, int path_fd, const struct stat *stat,
               const char *name, struct cache_file *file);

/** Returns true if file->runs, if requested, say which pages are cached: for hugetlbfs only their
 * number is known. */
bool cache_places_known(const struct cache_file *file);

void cache_file_free(struct cache_file *file);
