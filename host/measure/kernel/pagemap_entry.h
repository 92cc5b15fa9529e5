// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file pagemap_entry.h  The 64 bits of a virtual page in /proc/PID/pagemap.
 *
 * Source: Documentation/admin-guide/mm/pagemap.rst. A swapped entry carries a swap offset where the
 * frame number would be, so test PAGEMAP_PRESENT first. Without CAP_SYS_ADMIN frame numbers read as
 * 0. A page whose frame is being migrated looks swapped, too (is_swap_pte(), fs/proc/task_mmu.c).
 * Its entry has a swap type above those of swap devices, which use at least the lowest 23 types
 * (MAX_SWAPFILES, include/linux/swap.h).
 */
#pragma once

#define PAGEMAP_PRESENT (1ULL << 63)
#define PAGEMAP_SWAPPED (1ULL << 62)
/* A page of a file or of shared memory. A page of a private file mapping has this bit until it is
 * written. */
#define PAGEMAP_OF_FILE (1ULL << 61)
/* Written since the last clear_refs = 4, with CONFIG_MEM_SOFT_DIRTY; or the VMA is younger than
 * that (Documentation/admin-guide/mm/soft-dirty.rst). */
#define PAGEMAP_SOFT_DIRTY (1ULL << 55)
#define PAGEMAP_PFN(entry) ((entry) & ((1ULL << 55) - 1))
#define PAGEMAP_SWAP_TYPE(entry) ((entry)&31)
#define PAGEMAP_IN_MOTION(entry)                                           \
    (((entry) & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED)) == PAGEMAP_SWAPPED && \
     PAGEMAP_SWAP_TYPE(entry) >= 23)
