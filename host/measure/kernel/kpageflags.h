// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file kpageflags.h  /proc/kpageflags: the kernel's flags of a page frame.
 *
 * Source: Documentation/admin-guide/mm/pagemap.rst; include/uapi/linux/kernel-page-flags.h.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <stdint.h>

#define KPF(bit) (1ULL << (bit))
#define KPF_REFERENCED KPF(2)
#define KPF_LRU KPF(5)
#define KPF_ACTIVE KPF(6)
#define KPF_ANON KPF(12)
#define KPF_COMPOUND_HEAD KPF(15)
#define KPF_COMPOUND_TAIL KPF(16)
#define KPF_HUGE KPF(17)        /* hugetlb */
#define KPF_UNEVICTABLE KPF(18) /* locked in memory, so in no generation */
#define KPF_NOPAGE KPF(20)
/* Linux 6.12 shows KSM on every anonymous page (fs/proc/page.c, stable_page_flags(): it tests a
 * mask of two bits, one of which is set on all anonymous pages), so it is only a hint; check
 * kpagecount as well. */
#define KPF_KSM KPF(21)
#define KPF_THP KPF(22)
#define KPF_ZERO_PAGE KPF(24)
#define KPF_IDLE KPF(25)

int kpageflags_open(const struct fsroot *root, struct error *error);

/** Reads the flags of the frames pfn[0..n); ascending order is faster. 0 or a negative errno. */
int kpageflags_read(int fd, const uint64_t *pfn, uint64_t n, uint64_t *flags);

/** A folio: 2^order pages whose first frame is head. */
struct folio {
    uint64_t head;
    uint64_t flags; /* flags of the head */
    unsigned order;
};

/**
 * Finds the folio of frame @p pfn, which has @p flags and is its head or a tail. A folio of 2^k
 * pages begins at a frame number that is a multiple of 2^k (mm/page_alloc.c), so at most 18 frames
 * are read to find the head, and at most 18 to find the end.
 * @param guess  a likely order: if it is right, three reads are enough
 * @return 0; -ENOENT when it was split meanwhile; or another negative errno.
 */
int kpageflags_folio(int fd, uint64_t pfn, uint64_t flags, unsigned guess, struct folio *folio);

/** Opens /proc/kpagecount, a u64_file: for each frame, the number of its mappings. */
int kpagecount_open(const struct fsroot *root, struct error *error);
