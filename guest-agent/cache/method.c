// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file method.c  See method.h. */
#include "cache/method.h"

#include <string.h>

const struct cache_method *cache_method_find(const char *name)
{
    static const struct cache_method *const methods[] = {&cache_cachestat, &cache_mincore};

    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        if (!strcmp(methods[i]->name, name))
            return methods[i];
    return NULL;
}

int cache_count_file(const struct cache_method *method, const struct cache_target *target,
                     struct cache_count *count)
{
    struct cache_count beyond = {0};
    int rc = 0;

    *count = (struct cache_count){0};
    if (target->pages > 0)
        rc = method->count(target, 0, target->pages, count);
    if (rc == 0)
        rc = method->count(target, target->pages, CACHE_TO_THE_LAST, &beyond);
    if (rc < 0)
        return rc;
    count->beyond_eof = beyond.cached;
    cache_sum(&count->cached, beyond.cached);
    cache_sum(&count->dirty, beyond.dirty);
    cache_sum(&count->writeback, beyond.writeback);
    cache_sum(&count->evicted, beyond.evicted);
    cache_sum(&count->recently_evicted, beyond.recently_evicted);
    return 0;
}

uint64_t cache_within_eof(const struct cache_count *count)
{
    return count->beyond_eof == CACHE_UNKNOWN ? count->cached : count->cached - count->beyond_eof;
}

double cache_share(uint64_t part, uint64_t pages)
{
    return pages > 0 ? (double)part / (double)pages : 0;
}
