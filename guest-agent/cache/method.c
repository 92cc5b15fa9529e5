// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file method.c  See method.h. */
#include "cache/method.h"

#include <string.h>
#include <unistd.h>

const struct cache_method *cache_method_find(const char *name)
{
    static const struct cache_method *const methods[] = {&cache_cachestat, &cache_mincore};

    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        if (!strcmp(methods[i]->name, name))
            return methods[i];
    return NULL;
}

double cache_share(uint64_t part, uint64_t pages)
{
    return pages > 0 ? (double)part / (double)pages : 0;
}

uint64_t cache_page_bytes(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}
