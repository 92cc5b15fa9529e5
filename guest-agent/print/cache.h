// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cache.h  Prints the page cache of files, for people and for programs, to standard
 * output. */
#pragma once

#include "cache/total.h"
#include "show/sheet.h"

struct cache_format {
    enum show_format show;
    bool bytes;    /* exact bytes instead of KiB, MiB, ... */
    bool basename; /* print names without their directories */
    bool no_header;
    bool map;       /* the files have runs; not with CSV */
    unsigned parts; /* the question's */
};

/**
 * Prints the files, with names escaped by escape_name(), and their total.
 * - Tables have a row for each file, and one for the total. With .map each file has a bar of at
 * most 60 characters ('O': all cached, 'o': some) and a table of its runs; the total comes last,
 * unless there is only one file.
 * - JSON is one object with schema vmwss.guest_cache.v1, without unknown values.
 * - CSV has a line for each file, without a total.
 * @return 0 or -ENOMEM.
 */
int cache_print(const struct cache_format *format, const struct cache_file *file, size_t n,
                const struct cache_total *total);
