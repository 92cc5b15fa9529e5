// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cache_options.h  The command line of vmwss-guest cache. */
#pragma once

#include "cache/survey.h"
#include "print/cache.h"

#define CACHE_PIDS_MAX 64
#define CACHE_IGNORE_MAX 64
#define CACHE_SHOWN_MAX 100000 /* the default; takes about 30 MB, at times twice as much */

struct cache_options {
    struct survey survey; /* the survey's parameters */
    struct cache_format format;
    bool csv, json;
    int method; /* index of the method's name: auto, cachestat, mincore */
    const char *sort;
    uint64_t top; /* UINT64_MAX: not given */
    pid_t pid[CACHE_PIDS_MAX];
    size_t n_pids;
    char **path; /* ends with NULL */
    /* file with a list of further names; "-": standard input; NULL: not given */
    const char *files_from;
    bool null; /* names in that list end with NUL instead of a newline */
    const char *ignore[CACHE_IGNORE_MAX + 1];
    size_t n_ignore;
};

/** As options_read(). @p options must not move: the survey points into it. */
int cache_options_read(struct cache_options *options, int argc, char **argv);
