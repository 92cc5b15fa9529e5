// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ram_backing.h  What lies behind a RAM block: decided from its VMA and, live, its file. */
#pragma once

#include "guest/ram/guest_ram.h"
#include "guest/ram/smaps.h"

/**
 * Sets backing, and for shared shmem resident_bytes, of @p block. Pages of a shared file may be
 * populated without being mapped (after MADV_PAGEOUT without swap, or never touched through this
 * mapping): when the block covers its whole file, what the file holds (st_blocks, less what is
 * swapped) is resident, not Rss.
 * @param first  the first VMA of the block, as smaps printed it: it names the map_files entry
 */
void ram_backing_find(const struct fsroot *root, pid_t pid, const struct vma *first,
                      struct ram_block *block);

/** What lies behind any VMA that has an inode. */
enum ram_backing ram_backing_of_vma(const struct fsroot *root, pid_t pid, const struct vma *vma);

/** Opens the file of a block that is whole_file: O_PATH, for ram_backing_held(). A negative errno;
 * -1 below a root that is not live. It keeps the guest's memory: close it when the
 * guest has ended. */
int ram_backing_open(const struct fsroot *root, pid_t pid, const struct ram_block *block);

/** Bytes of a whole_file block in memory now: what its file holds, in memory and in swap alike
 * (i_blocks, mm/shmem.c), less what was swapped when it was located. */
uint64_t ram_backing_held(int fd, const struct ram_block *block);

/** Is any page of the shmem file behind @p block swapped out now? By cachestat(2) (Linux 6.5), to
 * which such a page is evicted (mm/filemap.c filemap_cachestat()); false where the kernel has
 * none, or the root is not live. */
bool ram_backing_is_swapped(const struct fsroot *root, pid_t pid, const struct ram_block *block);
