// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ram_backing.h  What lies behind a RAM block: decided from its VMA and, live, its file. */
#pragma once

#include "guest_ram/guest_ram.h"
#include "guest_ram/smaps.h"

/**
 * Sets backing, and for shared shmem resident_bytes, of @p block. Pages of a shared shmem file may be
 * populated without being mapped (facts of reclaim, MADV_PAGEOUT): when the block covers its whole file, what
 * the file holds (st_blocks, less what is swapped) is resident, not Rss.
 * @param first  the first VMA of the block, as smaps printed it: it names the map_files entry
 */
void ram_backing_find(const struct fsroot *root, pid_t pid, const struct vma *first,
                      struct ram_block *block);
