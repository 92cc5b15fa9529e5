// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file runs.h  Where in a file its cached pages are. */
#pragma once

#include "cache/method.h"

#include <stddef.h>

/** Consecutive cached pages. */
struct cache_run {
    uint64_t first;
    uint64_t pages;
};

struct cache_runs {
    struct cache_run *run; /* ascending, with a page between any two */
    size_t n;
};

/**
 * Finds the runs of cached pages of the file, up to its end. A method that knows single pages is
 * asked for each once. One that knows numbers only is asked for ranges, which are halved until each
 * is cached wholly or not at all; so it costs as many calls as there are borders, times the
 * logarithm of the size, and a hole of a terabyte costs one. The cache may change meanwhile: each
 * page is right for the moment at which it was looked at.
 * @return 0, then free runs->run; or a negative errno.
 */
int cache_runs_find(const struct cache_method *method, const struct cache_target *target,
                    struct cache_runs *runs);

/**
 * Pages of @p n equal parts of the file: part i is pages i * pages / n .. (i + 1) * pages / n - 1,
 * and may be empty.
 * @return 0 with the cached pages of each in cached[0 .. n), or a negative errno.
 */
int cache_parts_count(const struct cache_method *method, const struct cache_target *target,
                      uint64_t *cached, unsigned n);

/** First page of part @p i of @p n. */
uint64_t cache_part_first(uint64_t pages, unsigned i, unsigned n);
