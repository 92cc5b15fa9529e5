// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file kernel_memory.h  Memory of the kernel itself: slab caches, and allocations by call
 * site. */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_item {
    char name[256]; /* name of a cache, or "mm/filemap.c:1919 func:__filemap_get_folio" */
    /* as counted by the kernel; negative if it saw more memory freed than allocated */
    int64_t bytes;
    int64_t count;   /* number of objects or allocations */
    bool inaccurate; /* the kernel marks the number as inaccurate (Linux 6.18) */
};

struct kernel_items {
    struct kernel_item *item; /* largest first; only those whose bytes are not 0 */
    size_t n;
    size_t n_unread; /* number of lines that could not be parsed */
};

void kernel_items_free(struct kernel_items *items);

/** Reads /proc/slabinfo (root only). A cache's bytes are those of its slabs, used or not. 0, then
 * call kernel_items_free(); or a negative errno with the message. */
int slab_read(const struct fsroot *root, struct kernel_items *items, struct error *error);

/** Reads /proc/allocinfo (root only): Documentation/mm/allocation-profiling.rst, Linux 6.10.
 * Returns as slab_read(); the message says if profiling is off, and how to turn it on. */
int allocinfo_read(const struct fsroot *root, struct kernel_items *items, struct error *error);
