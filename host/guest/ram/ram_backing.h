// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ram_backing.h  The backing of a RAM block, found from its VMA and, on a live root, from
 * its file. */
#pragma once

#include "guest/ram/guest_ram.h"
#include "guest/ram/smaps.h"

/**
 * Sets the backing of @p block, and for shared shmem its resident_bytes. Pages of a shared file may
 * be populated without being mapped (after MADV_PAGEOUT without swap, or never touched through this
 * mapping): when the block covers its whole file, resident_bytes is the file's content (st_blocks
 * minus its swapped part), not Rss.
 * @param first  the first VMA of the block, as smaps printed it: it names the map_files entry
 */
void ram_backing_find(const struct fsroot *root, pid_t pid, const struct vma *first,
                      struct ram_block *block);

/** The backing of any VMA that has an inode. */
enum ram_backing ram_backing_of_vma(const struct fsroot *root, pid_t pid, const struct vma *vma);

/** Opens the file of a whole_file block with O_PATH, for ram_backing_held(). Returns a negative
 * errno on failure, -1 below a root that is not live. The descriptor keeps the guest's memory
 * alive: close it when the guest has ended. */
int ram_backing_open(const struct fsroot *root, pid_t pid, const struct ram_block *block);

/** Bytes of a whole_file block in memory now: the file's content in memory and swap (i_blocks,
 * mm/shmem.c) minus the part that was swapped when the block was located. */
uint64_t ram_backing_held(int fd, const struct ram_block *block);

/** Returns true if any page of the shmem file behind @p block is swapped out now. Uses cachestat(2)
 * (Linux 6.5), which counts such a page as evicted (mm/filemap.c filemap_cachestat()); false if the
 * kernel lacks it, or if the root is not live. */
bool ram_backing_is_swapped(const struct fsroot *root, pid_t pid, const struct ram_block *block);
