// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cache.h  Prints the page cache of files, for people and for programs, to standard
 * output. */
#pragma once

#include "cache/total.h"

struct cache_format {
    bool bytes;    /* exact bytes instead of KiB, MiB, ... */
    bool basename; /* print names without their directories */
    bool no_header;
    bool map;       /* the files have runs */
    unsigned parts; /* the question's */
};

/** Prints a row for each file, and one for the total. */
void cache_print_table(const struct cache_format *format, const struct cache_file *file, size_t n,
                       const struct cache_total *total);

/** Prints the cached pages of each file: a bar of at most 60 characters ('O': all cached, 'o':
 * some), and each run. The total comes last, unless there is only one file. */
void cache_print_maps(const struct cache_format *format, const struct cache_file *file, size_t n,
                      const struct cache_total *total);

/** Prints a line of CSV for each file, without a total. Names are escaped by escape_name(). */
void cache_print_csv(const struct cache_format *format, const struct cache_file *file, size_t n);

/** Prints one object with schema vmwss.guest_cache.v1, without unknown values. 0 or -ENOMEM. */
int cache_print_json(const struct cache_format *format, const struct cache_file *file, size_t n,
                     const struct cache_total *total);

/** Returns the name to print, which the caller frees; NULL if out of memory. */
char *cache_name(const struct cache_format *format, const struct cache_file *file, bool *escaped);
