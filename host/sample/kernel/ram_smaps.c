// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ram_smaps.c  See ram_smaps.h. */
#include "sample/kernel/ram_smaps.h"

#include "base/bytes.h"
#include "guest_ram/smaps.h"

#include <string.h>

struct walk {
    const struct guest_ram *ram;
    struct ram_smaps *sums;
};

static bool is_ram(const struct guest_ram *ram, const struct vma *vma)
{
    for (size_t i = 0; i < ram->n_blocks; i++)
        if (vma->start >= ram->blocks[i].hva &&
            vma->end <= ram->blocks[i].hva + ram->blocks[i].bytes)
            return true;
    return false;
}

#define HUGE_BYTES (2ULL << 20)

static uint64_t leaves_of(const struct vma *vma, uint64_t huge_bytes)
{
    uint64_t huge = smaller(huge_bytes, vma->rss_bytes);

    if (vma->locked || vma->hugetlb)
        return 0;
    return (vma->rss_bytes - huge) / BASE_PAGE_BYTES + huge / HUGE_BYTES;
}

/* A shared mapping may be of a file on a disk: then it is too much. */
static void add_own(const struct vma *vma, struct ram_smaps *sums)
{
    uint64_t bytes = vma->perms[3] == 's' ? vma->rss_bytes : vma->anon_bytes;

    sums->own_bytes += bytes;
    sums->own_referenced_bytes += smaller(vma->referenced_bytes, bytes);
    if (vma->dont_copy)
        sums->own_mapped_bytes += bytes;
}

static int add_vma(const struct vma *vma, void *context)
{
    struct walk *walk = context;

    uint64_t huge_bytes = vma->anon_huge_bytes + vma->shmem_pmd_bytes + vma->file_pmd_bytes;

    if (!is_ram(walk->ram, vma)) {
        add_own(vma, walk->sums);
        return 0;
    }
    walk->sums->resident_bytes += vma->rss_bytes;
    walk->sums->referenced_bytes += vma->referenced_bytes;
    walk->sums->hugetlb_bytes += vma->hugetlb_bytes;
    walk->sums->shared_bytes += vma->shared_bytes;
    walk->sums->swapped_bytes += vma->swap_bytes;
    walk->sums->huge_bytes += huge_bytes;
    walk->sums->leaves += leaves_of(vma, huge_bytes);
    return 0;
}

int ram_smaps_read(const struct target *target, struct ram_smaps *out, struct error *error)
{
    struct walk walk = {.ram = target->ram, .sums = out};

    memset(out, 0, sizeof(*out));
    return smaps_walk(target->root, target->process->pid, add_vma, &walk, error);
}
