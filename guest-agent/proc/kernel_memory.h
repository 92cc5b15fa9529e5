// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file kernel_memory.h  The memory of the kernel itself: slab caches, and allocations by the line
 * of code that made them. */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_item {
    char name[256];  /* of the cache; or "mm/filemap.c:1919 func:__filemap_get_folio" */
    int64_t bytes;   /* as the kernel counts: below 0 where it saw more freed than allocated */
    int64_t count;   /* objects; or allocations */
    bool inaccurate; /* so says the kernel: Linux 6.18 */
};

struct kernel_items {
    struct kernel_item *item; /* largest first; those with bytes only */
    size_t n;
    size_t n_unread; /* lines that are not understood */
};

void kernel_items_free(struct kernel_items *items);

/** /proc/slabinfo (root only): a cache's bytes are those of its slabs, used or not. 0, then
 * kernel_items_free(); or a negative errno with the message. */
int slab_read(const struct fsroot *root, struct kernel_items *items, struct error *error);

/** /proc/allocinfo (root only): Documentation/mm/allocation-profiling.rst, Linux 6.10. As
 * slab_read(); the message says when profiling is off, and how to turn it on. */
int allocinfo_read(const struct fsroot *root, struct kernel_items *items, struct error *error);

/** [{"name":..,"bytes":..,"count":..}, ...], the first @p top, with "accurate":false where so. NULL
 * when out of memory. */
json_t *kernel_items_json(const struct kernel_items *items, size_t top);
