// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file runs.h  Finds the positions of a file's cached pages. */
#pragma once

#include "cache/method.h"

#include <stddef.h>

/** Consecutive cached pages. */
struct cache_run {
    uint64_t first;
    uint64_t pages;
};

struct cache_runs {
    struct cache_run *run; /* ascending, with at least one page between two runs */
    size_t n;
};

/**
 * Finds the runs of cached pages of the file, up to its end. If the method has a vector(), each
 * page is read once. Otherwise ranges are counted and halved until each is cached wholly or not at
 * all. That takes about as many calls as there are borders, times the logarithm of the size; a hole
 * of a terabyte takes one call. The cache may change meanwhile: each page is as of the moment when
 * it was read.
 * @return 0, then free runs->run; or a negative errno.
 */
int cache_runs_find(const struct cache_method *method, const struct cache_target *target,
                    struct cache_runs *runs);

/**
 * Counts the cached pages of @p n equal parts of the file: part i is pages i * pages / n .. (i + 1)
 * * pages / n - 1, and may be empty.
 * @return 0 with the cached pages of each in cached[0 .. n), or a negative errno.
 */
int cache_parts_count(const struct cache_method *method, const struct cache_target *target,
                      uint64_t *cached, unsigned n);

/** First page of part @p i of @p n. */
uint64_t cache_part_first(uint64_t pages, unsigned i, unsigned n);
