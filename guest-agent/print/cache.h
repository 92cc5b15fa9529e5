// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cache.h  The page cache of files, for people and for scripts. All print to standard
 * output. */
#pragma once

#include "cache/total.h"

struct cache_format {
    bool bytes;    /* exact bytes instead of KiB, MiB, ... */
    bool basename; /* names without their directories */
    bool no_header;
    bool map;       /* the files have runs */
    unsigned parts; /* the question's */
};

/** A row for each file, and the total's. */
void cache_print_table(const struct cache_format *format, const struct cache_file *file, size_t n,
                       const struct cache_total *total);

/** The pages of each file: a bar of at most 60 characters ('O': all cached, 'o': some), and each
 * run of cached pages. The total's line comes last, unless it is of one file only. */
void cache_print_maps(const struct cache_format *format, const struct cache_file *file, size_t n,
                      const struct cache_total *total);

/** A line for each file; the total is the reader's to take. Names as by escape_name(). */
void cache_print_csv(const struct cache_format *format, const struct cache_file *file, size_t n);

/** One object, schema vmwss.guest_cache.v1; what is unknown is left out. 0 or -ENOMEM. */
int cache_print_json(const struct cache_format *format, const struct cache_file *file, size_t n,
                     const struct cache_total *total);

/** The name to print: an allocation that the caller frees, or NULL when out of memory. */
char *cache_name(const struct cache_format *format, const struct cache_file *file, bool *escaped);
