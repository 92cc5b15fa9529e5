// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file page_sizes.h  The sizes of this host's pages: the base page, which one PTE maps and which
 * has one pagemap entry, and the huge page, which one PMD maps.
 *
 * x86-64 has 4 KiB and 2 MiB; arm64 has 4 KiB and 2 MiB, 16 KiB and 32 MiB, or 64 KiB and 512 MiB,
 * depending on its kernel's configuration. They are read before main(): the base page by
 * sysconf(3), the huge page from /sys/kernel/mm/transparent_hugepage/hpage_pmd_size
 * (Documentation/admin-guide/mm/transhuge.rst). If the kernel has no huge pages, the size is
 * computed from the base page: a page table is one page of 8-byte entries on both architectures.
 *
 * Both are powers of two, stored as shifts, so that multiplication and division by them compile to
 * shifts.
 */
#pragma once

#include <stdint.h>

struct error;
struct fsroot;

struct page_sizes {
    unsigned base_shift, huge_shift;
};

/** The sizes of this host. Only the functions below read them; page_sizes_read() and tests write
 * them. */
extern struct page_sizes page_sizes_now;

/**
 * Sets the base page to @p base_bytes, and the huge page from @p root. A huge page that is not a
 * power of two, not larger than a base page, or larger than 16 GiB, is refused: its size is then
 * computed from the base page. An impossible @p base_bytes changes nothing.
 */
void page_sizes_read(const struct fsroot *root, uint64_t base_bytes);

/** The base page sizes of x86-64 and arm64, in bytes, to be or-ed. */
enum base_page_sizes {
    BASE_4K = 4096,
    BASE_16K = 16384,
    BASE_64K = 65536,
    BASE_ALL = BASE_4K | BASE_16K | BASE_64K,
};

/**
 * Checks that @p what can measure with base pages of @p base_bytes.
 * @param verified  the base page sizes (enum base_page_sizes) with which its numbers were verified;
 *                  0: 4 KiB. Other sizes are refused.
 * @param what the subject of the message: a method's name, because other methods may work here, or
 * the requested object
 * @return 0; -ENOTSUP, with the size in @p error
 */
int page_sizes_check(uint64_t base_bytes, uint64_t verified, const char *what, struct error *error);

/** Size of the base page, in bytes. */
static inline uint64_t base_page_bytes(void)
{
    return 1ULL << page_sizes_now.base_shift;
}

/** The number of whole base pages in @p bytes. */
static inline uint64_t base_pages(uint64_t bytes)
{
    return bytes >> page_sizes_now.base_shift;
}

/** Size of the huge page, in bytes. */
static inline uint64_t huge_page_bytes(void)
{
    return 1ULL << page_sizes_now.huge_shift;
}

/** A huge page has 2^order base pages. */
static inline unsigned huge_page_order(void)
{
    return page_sizes_now.huge_shift - page_sizes_now.base_shift;
}

/** The number of base pages in a huge page. */
static inline uint64_t huge_page_pages(void)
{
    return 1ULL << huge_page_order();
}
