// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file pagemap.h  /proc/PID/pagemap: the state of each page of guest RAM, and the PAGEMAP_SCAN
 * ioctl.
 *
 * Source: Documentation/admin-guide/mm/pagemap.rst; fs/proc/task_mmu.c.
 */
#pragma once

#include "base/error.h"
#include "guest/ram/target.h"
#include "measure/kernel/pagemap_entry.h"

#include <stdbool.h>
#include <stdint.h>

/** Opens /proc/PID/pagemap; the caller closes it. Without CAP_SYS_ADMIN frame numbers read as 0, so
 * a caller that needs them must check that some are not 0. */
int pagemap_open(const struct target *target, struct error *error);

/** Entries of the pages page[0..n) of guest RAM. */
int pagemap_read(int fd, const struct guest_ram *ram, const uint64_t *page, uint64_t n,
                 uint64_t *entries);

/** Finds which of the pages page[0..n) of guest RAM are present (PAGEMAP_PRESENT of their entries),
 * by PAGEMAP_SCAN if the kernel has it, in less than half the time. @p page should be ascending,
 * because otherwise each page takes a system call. */
int pagemap_present(int fd, const struct guest_ram *ram, const uint64_t *page, uint64_t n,
                    bool *present);

/** Reads the entries of @p n consecutive pages of guest RAM, from page @p first on. */
int pagemap_read_range(int fd, const struct guest_ram *ram, uint64_t first, uint64_t n,
                       uint64_t *entries);

/**
 * Fires the MMU notifier for [hva, hva + bytes) and does nothing else. PAGEMAP_SCAN with
 * PM_SCAN_WP_MATCHING notifies KVM of a change of protection before it examines the mapping. It
 * then skips every VMA that is not registered for asynchronous userfaultfd write protection, as
 * QEMU's never are. Even in a registered VMA nothing would be protected, because the category mask
 * asks for pages that are both a huge zero page and swapped. (fs/proc/task_mmu.c, do_pagemap_scan()
 * and pagemap_scan_test_walk(), Linux 6.7 and later.)
 * @return 0; -ENOTTY before 6.7.
 */
int pagemap_invalidate(int fd, uint64_t hva, uint64_t bytes);

/**
 * Checks that this kernel has PAGEMAP_SCAN, by a call without effect: for an empty range at @p hva.
 * @return 0; -ENOTTY and others, with the missing part named in @p why.
 */
int pagemap_check_scan(int fd, uint64_t hva, struct error *why);

struct page_mapping {
    bool huge; /* mapped by a PMD (THP) or larger (hugetlb) */
    bool zero; /* the shared zero page */
};

/** Finds how the present page at @p hva is mapped. 0, or a negative errno (-ENOTTY before Linux
 * 6.7). */
int pagemap_mapping(int fd, uint64_t hva, struct page_mapping *out);
