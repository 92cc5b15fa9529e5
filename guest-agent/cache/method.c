// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cache/method.h"

void cache_count_add(struct cache_count *sum, const struct cache_count *part)
{
    for (size_t at = 0; at < sizeof(*sum); at += sizeof(uint64_t)) {
        uint64_t *total = (uint64_t *)(void *)((char *)sum + at);
        uint64_t value = *(const uint64_t *)(const void *)((const char *)part + at);

        *total = *total == CACHE_UNKNOWN || value == CACHE_UNKNOWN ? CACHE_UNKNOWN : *total + value;
    }
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
    count->beyond_eof = 0;
    beyond.beyond_eof = beyond.cached;
    cache_count_add(count, &beyond);
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
