// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file total.h  Totals over files, and sorting of files. Pure functions. */
#pragma once

#include "cache/look.h"

/** The number of files that are unknown for one reason. */
struct cache_reason {
    const char *text;
    uint64_t files;
};

#define CACHE_REASONS 8 /* further reasons are counted together */

struct cache_total {
    uint64_t files;
    uint64_t unknown_files; /* number of unknown files; the other members below exclude them */
    uint64_t unknown_bytes; /* their size */
    uint64_t size_bytes;
    uint64_t pages;
    struct cache_count count; /* each member is CACHE_UNKNOWN if it is unknown for any file */
    struct cache_reason reason[CACHE_REASONS];
    /* directories that were not entered because another file system is mounted there */
    uint64_t not_entered;
    bool interrupted; /* there may be more files */
};

/** Adds a file; initialise @p total with {0}. */
void cache_total_add(struct cache_total *total, const struct cache_file *file);

/** Sorts by "name", ascending; or by "size", "cached" or "percent", largest first, then by name,
 * with unknown values last. Returns false for any other key. */
bool cache_sort(struct cache_file *file, size_t n, const char *key);
