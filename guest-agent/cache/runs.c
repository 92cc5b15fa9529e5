// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cache/runs.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

struct search {
    const struct cache_method *method;
    const struct cache_target *target;
    struct cache_runs *runs;
};

static int append_run(struct cache_runs *runs, uint64_t first, uint64_t pages)
{
    struct cache_run *last = runs->n > 0 ? &runs->run[runs->n - 1] : NULL;

    if (last && last->first + last->pages == first) {
        last->pages += pages;
        return 0;
    }

    return array_put(&runs->run, &runs->n, &(struct cache_run){first, pages}, sizeof(*runs->run));
}

/* The recursion depth is the logarithm of the number of pages, 52 at most. */
static int halve(const struct search *search, uint64_t first, uint64_t pages)
{
    struct cache_count count;
    int rc = search->method->count(search->target, first, pages, &count);

    if (rc < 0 || count.cached == 0)
        return rc;
    if (count.cached >= pages)
        return append_run(search->runs, first, pages);

    uint64_t half = pages / 2;

    rc = halve(search, first, half);
    return rc < 0 ? rc : halve(search, first + half, pages - half);
}

static int append_cached(struct cache_runs *runs, uint64_t first, const unsigned char *vector,
                         uint64_t pages)
{
    int rc = 0;

    for (uint64_t i = 0; rc == 0 && i < pages; i++)
        if (vector[i])
            rc = append_run(runs, first + i, 1);
    return rc;
}

/* Reads each page once: halving would read the pages of each range again at every depth. */
static int scan(const struct search *search)
{
    const struct cache_target *target = search->target;
    unsigned char vector[CACHE_VECTOR_MAX];
    int rc = 0;

    for (uint64_t first = 0; rc == 0 && first < target->pages; first += CACHE_VECTOR_MAX) {
        uint64_t left = target->pages - first;
        uint64_t pages = left < CACHE_VECTOR_MAX ? left : CACHE_VECTOR_MAX;

        if (!cache_goes_on(target->patience, cache_share(first, target->pages)))
            return -EINTR;
        rc = search->method->vector(target, first, pages, vector);
        if (rc == 0)
            rc = append_cached(search->runs, first, vector, pages);
    }
    return rc;
}

static int search_pages(const struct search *search)
{
    if (search->method->vector)
        return scan(search);
    return search->target->pages > 0 ? halve(search, 0, search->target->pages) : 0;
}

int cache_runs_find(const struct cache_method *method, const struct cache_target *target,
                    struct cache_runs *runs)
{
    struct search search = {.method = method, .target = target, .runs = runs};

    *runs = (struct cache_runs){0};

    int rc = search_pages(&search);

    if (rc < 0) {
        free(runs->run);
        *runs = (struct cache_runs){0};
    }
    return rc;
}

uint64_t cache_part_first(uint64_t pages, unsigned i, unsigned n)
{
    /* computes i * pages / n without overflow */
    return pages / n * i + pages % n * i / n;
}

int cache_parts_count(const struct cache_method *method, const struct cache_target *target,
                      uint64_t *cached, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t first = cache_part_first(target->pages, i, n);
        uint64_t end = cache_part_first(target->pages, i + 1, n);
        struct cache_count count = {0};
        int rc = end > first ? method->count(target, first, end - first, &count) : 0;

        if (rc < 0)
            return rc;
        cached[i] = count.cached;
    }
    return 0;
}
