// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file own_memory.h  What QEMU has in memory besides the guest's RAM, page by page: heap, stacks,
 * translated code, and shared memory such as a display's or that of a memory backend which no
 * device uses.
 *
 * The counters of /proc/PID/status are of all of QEMU. What of their change is QEMU's own is seen
 * in the page tables outside of guest RAM, which are small: /proc/PID/maps says where, pagemap what
 * is there. 1.2 ms for a TCG guest's QEMU with its 1 GiB of room for translated code (measured,
 * 6.18).
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
    unsigned incomplete; /* kinds of which there may be more, in mappings too large to look at */
};

/**
 * Counts the pages of @p kinds, bits, that are in memory in QEMU's own mappings.
 * @return 0; a negative errno when maps or pagemap cannot be read (also of a captured tree)
 */
int own_memory_read(const struct fsroot *root, pid_t pid, const struct guest_ram *ram,
                    unsigned kinds, struct own_memory *own);

/** Counts the pages between @p start and @p end that are in the page tables of @p pid, in bytes: 0,
 * or a negative errno. */
int mapped_bytes_between(const struct fsroot *root, pid_t pid, uint64_t start, uint64_t end,
                         uint64_t *bytes);
