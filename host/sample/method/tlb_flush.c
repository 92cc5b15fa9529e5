// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file tlb_flush.c  See tlb_flush.h. */
#include "sample/method/tlb_flush.h"

#include "sample/kernel/advise.h"
#include "sample/kernel/pagemap.h"

/* A few, for KVM flushes only if it had the page mapped, and not every page of RAM is. */
#define FLUSH_DROPS 16

static void flush_kvm(const struct page_set *set, int pagemap_fd)
{
    uint64_t step = set->n / FLUSH_DROPS + 1;

    for (uint64_t i = 0; i < set->n; i += step)
        if (set->state[i] == PAGE_IDLE &&
            pagemap_invalidate(pagemap_fd, page_set_hva(set, i), BASE_PAGE_BYTES) < 0)
            return;
}

static bool can_be_advised(const struct ram_block *block)
{
    return !block->locked && block->backing != RAM_BACKING_HUGETLB;
}

/* All of RAM, also for a panel: the kernel flushes what it finds young again, and the panel's own pages, whose
 * translations are stale, are not; but where young pages lie more than 33 pages apart it flushes all
 * (arch/x86/mm/tlb.c). */
static void flush_tcg(const struct target *target)
{
    const struct guest_ram *ram = target->ram;

    for (size_t b = 0; b < ram->n_blocks; b++) {
        struct iovec range = {.iov_base = (void *)(uintptr_t)ram->blocks[b].hva,
                              .iov_len = ram->blocks[b].bytes};

        if (can_be_advised(&ram->blocks[b]) && !advice_splits(target->root, &ram->blocks[b]))
            process_advise(target->process->pidfd, ADVISE_COLD, &range, 1);
    }
}

void tlb_flush(const struct target *target, const struct page_set *set, int pagemap_fd)
{
    if (target->process->accel == ACCEL_KVM)
        flush_kvm(set, pagemap_fd);
    else
        flush_tcg(target);
}
