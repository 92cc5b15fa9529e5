// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file page_sizes.h  The sizes of this host's pages: the base page, which one PTE maps and pagemap
 * has an entry for, and the huge page, which one PMD maps.
 *
 * x86-64 has 4 KiB and 2 MiB; arm64, by how its kernel was built, 4 KiB and 2 MiB, 16 KiB and 32
 * MiB, or 64 KiB and 512 MiB. They are read before main(): the base page by sysconf(3), the huge
 * page from /sys/kernel/mm/transparent_hugepage/hpage_pmd_size
 * (Documentation/admin-guide/mm/transhuge.rst), and what follows from the base page where the
 * kernel has no huge pages: a page table is one page of 8-byte entries on both architectures.
 *
 * Both are powers of two, kept as shifts: products and quotients by them compile to shifts.
 */
#pragma once

#include <stdint.h>

struct error;
struct fsroot;

struct page_sizes {
    unsigned base_shift, huge_shift;
};

/** Of this host. Read by the functions below only; written by page_sizes_read() and by tests. */
extern struct page_sizes page_sizes_now;

/**
 * Takes @p base_bytes for the base page, and the huge page from @p root. What is no power of two,
 * or is no larger than a base page, or larger than 16 GiB, is not believed: then the huge page is
 * that which follows from the base page. An unbelievable @p base_bytes changes nothing.
 */
void page_sizes_read(const struct fsroot *root, uint64_t base_bytes);

/** The base pages that x86-64 and arm64 have, in bytes, to be or-ed. */
enum base_page_sizes {
    BASE_4K = 4096,
    BASE_16K = 16384,
    BASE_64K = 65536,
    BASE_ALL = BASE_4K | BASE_16K | BASE_64K,
};

/**
 * Does @p what measure where the base page has @p base_bytes?
 * @param verified  the base pages (enum base_page_sizes) with which its numbers were shown to be
 *                  right; 0: 4 KiB. Sizes that were not verified are refused.
 * @param what  for @p error: a method's name, since others may measure here, or what is asked for
 * @return 0; -ENOTSUP, with the size in @p error
 */
int page_sizes_check(uint64_t base_bytes, uint64_t verified, const char *what, struct error *error);

/** Of the base page, in bytes. */
static inline uint64_t base_page_bytes(void)
{
    return 1ULL << page_sizes_now.base_shift;
}

/** How many whole base pages @p bytes are. */
static inline uint64_t base_pages(uint64_t bytes)
{
    return bytes >> page_sizes_now.base_shift;
}

/** Of the huge page, in bytes. */
static inline uint64_t huge_page_bytes(void)
{
    return 1ULL << page_sizes_now.huge_shift;
}

/** A huge page has 2^order base pages. */
static inline unsigned huge_page_order(void)
{
    return page_sizes_now.huge_shift - page_sizes_now.base_shift;
}

/** How many base pages a huge page has. */
static inline uint64_t huge_page_pages(void)
{
    return 1ULL << huge_page_order();
}
