// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cache/total.h"

#include "base/array.h"
#include "cache/method.h"

#include <stdlib.h>
#include <string.h>

static void add_unknown(struct cache_total *total, const struct cache_file *file)
{
    struct cache_reason *reason = total->reason;

    total->unknown_files++;
    total->unknown_bytes += file->size_bytes;
    while (reason < total->reason + CACHE_REASONS && reason->text &&
           strcmp(reason->text, file->unknown) != 0)
        reason++;
    if (reason == total->reason + CACHE_REASONS)
        return;
    reason->text = file->unknown;
    reason->files++;
}

void cache_total_add(struct cache_total *total, const struct cache_file *file)
{
    total->files++;
    if (file->unknown) {
        add_unknown(total, file);
        return;
    }
    total->size_bytes += file->size_bytes;
    total->pages += file->pages;
    cache_count_add(&total->count, &file->count);
}

static int by_name(const void *a, const void *b)
{
    const struct cache_file *x = a;
    const struct cache_file *y = b;

    return strcmp(x->name, y->name);
}

static int by_size(const void *a, const void *b)
{
    const struct cache_file *x = a;
    const struct cache_file *y = b;

    if (x->size_bytes != y->size_bytes)
        return x->size_bytes > y->size_bytes ? -1 : 1;
    return by_name(a, b);
}

static int by_cached(const void *a, const void *b)
{
    const struct cache_file *x = a;
    const struct cache_file *y = b;

    if (!x->unknown != !y->unknown)
        return x->unknown ? 1 : -1;
    if (x->count.cached != y->count.cached)
        return x->count.cached > y->count.cached ? -1 : 1;
    return by_name(a, b);
}

static int by_percent(const void *a, const void *b)
{
    const struct cache_file *x = a;
    const struct cache_file *y = b;
    double x_share = cache_share(cache_within_eof(&x->count), x->pages);
    double y_share = cache_share(cache_within_eof(&y->count), y->pages);

    if (!x->unknown != !y->unknown)
        return x->unknown ? 1 : -1;
    if (x_share != y_share)
        return x_share > y_share ? -1 : 1;
    return by_cached(a, b);
}

bool cache_sort(struct cache_file *file, size_t n, const char *key)
{
    static const struct {
        const char *key;
        int (*compare)(const void *, const void *);
    } orders[] = {
        {"name", by_name}, {"size", by_size}, {"cached", by_cached}, {"percent", by_percent}};

    for (size_t i = 0; i < COUNT(orders); i++)
        if (!strcmp(orders[i].key, key)) {
            if (n > 0)
                qsort(file, n, sizeof(*file), orders[i].compare);
            return true;
        }
    return false;
}
