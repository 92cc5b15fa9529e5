// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file pagemap_scan.h  The PAGEMAP_SCAN ioctl, from include/uapi/linux/fs.h of Linux 6.7; Debian
 * 12's own headers are older. */
#pragma once

#include <stdint.h>
#include <sys/ioctl.h>

struct scan_arg {
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
    uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
struct scan_region {
    uint64_t start, end, categories;
};
#define SCAN_IOCTL _IOWR('f', 16, struct scan_arg)
#define SCAN_WP_MATCHING (1ULL << 0)
#define SCAN_IS_PRESENT (1ULL << 3)
#define SCAN_IS_SWAPPED (1ULL << 4)
#define SCAN_IS_PFNZERO (1ULL << 5)
#define SCAN_IS_HUGE (1ULL << 6)
#define SCAN_IS_SOFT_DIRTY (1ULL << 7)
