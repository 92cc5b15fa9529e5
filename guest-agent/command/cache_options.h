// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cache_options.h  The command line of vmwss-guest cache. */
#pragma once

#include "cache/survey.h"
#include "print/cache.h"

#define CACHE_PIDS_MAX 64
#define CACHE_IGNORE_MAX 64
#define CACHE_SHOWN_MAX 100000 /* the default: about 30 MB, at times twice as much */

struct cache_options {
    struct survey survey; /* what is asked of it */
    struct cache_format format;
    bool csv, json;
    int method; /* the place of its name: auto, cachestat, mincore */
    const char *sort;
    uint64_t top; /* UINT64_MAX: not asked for */
    pid_t pid[CACHE_PIDS_MAX];
    size_t n_pids;
    char **path;            /* ends with NULL */
    const char *files_from; /* a list of more; "-": standard input; NULL: none */
    bool null;              /* the names of that list end with NUL, not a newline */
    const char *ignore[CACHE_IGNORE_MAX + 1];
    size_t n_ignore;
};

/** As options_read(). The options stay where they are: the
 * survey points into them. */
int cache_options_read(struct cache_options *options, int argc, char **argv);
