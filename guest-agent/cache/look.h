// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file look.h  Finds how much of one file is in the page cache, or why that is not known. */
#pragma once

#include "base/fsroot.h"
#include "cache/method.h"
#include "cache/runs.h"

#include <sys/stat.h>

#define CACHE_PARTS_MAX 16

/** The data to collect about each file. */
struct cache_question {
    const struct fsroot *root;         /* its proc/self/fd reopens files found with O_PATH */
    const struct cache_method *method; /* NULL: cachestat, or mincore if cachestat cannot be used */
    /* also count cached pages in this number of parts of the file; 0 .. CACHE_PARTS_MAX */
    unsigned parts;
    bool runs; /* also find which pages are cached */
    const struct cache_patience *patience;
};

struct cache_file {
    char *name;
    uint64_t size_bytes;
    uint64_t pages;           /* size of the file */
    struct cache_count count; /* .cached is CACHE_UNKNOWN if and only if .unknown has a reason */
    const char *unknown;      /* static text */
    const char *method;       /* name of the method used; "" if there was nothing to count */
    uint64_t *part;           /* cached pages of each part; NULL if not requested, or not known */
    struct cache_runs runs;
};

/**
 * Counts the cached pages of the regular file or block device @p path_fd, which was opened with
 * O_PATH; @p stat is from fstat(). Empty files and generated files (proc, sysfs and similar) are
 * not opened, nor are files of hugetlbfs, whose blocks are their pages. If the file is ours, its
 * access time does not change (O_NOATIME).
 * @return 0, also if the result is "unknown"; then call cache_file_free(). -ENOMEM.
 */
int cache_look(const struct cache_question *question, int path_fd, const struct stat *stat,
               const char *name, struct cache_file *file);

/** Returns true if file->runs, if requested, shows which pages are cached; for hugetlbfs only their
 * number is known. */
bool cache_places_known(const struct cache_file *file);

void cache_file_free(struct cache_file *file);
