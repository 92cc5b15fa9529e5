// SPDX-License-Identifier: LGPL-2.1-or-later
#include "proc/touched.h"

static uint64_t part_of(uint64_t bytes, uint64_t part, uint64_t whole)
{
    return part < whole ? (uint64_t)((double)bytes * (double)part / (double)whole) : bytes;
}

static int add_vma(const struct vma *vma, void *context)
{
    struct touched *all = context;
    uint64_t share = part_of(vma->referenced_bytes, vma->pss_bytes, vma->rss_bytes);
    /* The inode of a file may be 0, as that of the first System V segment, but its device is
     * not. */
    bool file = vma->inode != 0 || vma->device.major != 0 || vma->device.minor != 0;
    uint64_t anon = file ? part_of(share, vma->anon_bytes, vma->rss_bytes) : share;

    all->memory.rss_bytes += vma->rss_bytes;
    all->memory.pss_bytes += vma->pss_bytes;
    all->memory.referenced_bytes += vma->referenced_bytes;
    all->memory.swap_bytes += vma->swap_bytes;
    all->anon_bytes += anon;
    all->file_bytes += share - anon;
    return 0;
}

int touched_read(const struct fsroot *root, pid_t pid, struct touched *touched)
{
    *touched = (struct touched){0};
    return process_smaps_walk(root, pid, add_vma, touched);
}
