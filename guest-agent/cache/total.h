// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file total.h  Sums over files, and their order. Pure functions. */
#pragma once

#include "cache/look.h"

/** The number of unknown files for one reason. */
struct cache_reason {
    const char *text;
    uint64_t files;
};

#define CACHE_REASONS 8 /* more are counted together */

struct cache_total {
    uint64_t files;
    uint64_t unknown_files; /* of the files; nothing of them is in what follows but this: */
    uint64_t unknown_bytes; /* their size */
    uint64_t size_bytes;
    uint64_t pages;
    struct cache_count count; /* each CACHE_UNKNOWN where one of the files does not say */
    struct cache_reason reason[CACHE_REASONS];
    uint64_t not_entered; /* directories on which another file system is mounted */
    bool interrupted;     /* there may be more files */
};

/** Begins with {0}. */
void cache_total_add(struct cache_total *total, const struct cache_file *file);

/** "name" ascending; "size", "cached" or "percent", largest first, then by name; what is unknown
 * comes last.
 *  False for any other key. */
bool cache_sort(struct cache_file *file, size_t n, const char *key);
