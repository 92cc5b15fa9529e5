// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file own_memory.h  QEMU's own memory, counted page by page outside of guest RAM: heap, stacks,
 * translated code, and shared memory such as a display's or that of a memory backend which no
 * device uses.
 *
 * The counters of /proc/PID/status cover all of QEMU. The page tables outside of guest RAM, which
 * are small, show how much of a change is QEMU's own: /proc/PID/maps gives the ranges and pagemap
 * their pages. This takes 1.2 ms for a TCG guest's QEMU with its 1 GiB of room for translated code
 * (measured, 6.18).
 */
#pragma once

#include "guest/ram/guest_ram.h"

/** Kinds of pages; /proc/PID/status has a counter of each. */
enum page_kind {
    PAGE_KIND_ANON,
    PAGE_KIND_FILE,
    PAGE_KIND_SHMEM,
    PAGE_KIND_HUGETLB,
    N_PAGE_KINDS,
};

#define PAGE_KIND_BIT(kind) (1U << (kind))

struct own_memory {
    uint64_t bytes[N_PAGE_KINDS];
    unsigned incomplete; /* kinds that may have more pages, in mappings too large to examine */
};

/**
 * Counts the resident pages of @p kinds (bits) in QEMU's own mappings.
 * @return 0; a negative errno when maps or pagemap cannot be read (also of a captured tree)
 */
int own_memory_read(const struct fsroot *root, pid_t pid, const struct guest_ram *ram,
                    unsigned kinds, struct own_memory *own);

/** Counts, in bytes, the pages between @p start and @p end that the page tables of @p pid map. 0,
 * or a negative errno. */
int mapped_bytes_between(const struct fsroot *root, pid_t pid, uint64_t start, uint64_t end,
                         uint64_t *bytes);
