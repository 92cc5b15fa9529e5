// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file tlb_flush.c  See tlb_flush.h. */
#include "sample/method/tlb_flush.h"

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/random.h"
#include "sample/kernel/advise.h"
#include "sample/kernel/kvm_stats.h"
#include "sample/kernel/pagemap.h"

#include <string.h>

/* KVM is asked after so many whether it has flushed. Most guests have most of RAM mapped: the first
 * do. */
#define DROPS_AT_A_TIME 16
#define DROPS_MAX 4096
/* Where the counter cannot be read. If KVM has 5 % of what is present mapped, one in 700 markings
 * goes without a flush. */
#define DROPS_UNSEEN 128

/* Entries of the largest second-level TLBs, those for code included, with room: 4096 + 2048 in
 * AMD's Zen 5. */
#define TLB_ENTRIES 8192

struct drops {
    const struct target *target;
    const struct page_set *set;
    int pagemap_fd;
    bool counted;     /* KVM's counter can be read, and ... */
    uint64_t flushes; /* ... was so before */
    uint64_t n;
    bool flushed;
    int rc;
};

static bool has_flushed(const struct drops *drops)
{
    uint64_t flushes;

    if (!arch_host()->drop_flushes_vm)
        return false;
    if (!drops->counted || kvm_tlb_flushes(drops->target, &flushes) < 0)
        return drops->n >= DROPS_UNSEEN;
    return flushes != drops->flushes;
}

/* What is not idle is absent, unmeasurable, or read touched, which it was. False: enough. */
static bool drop_page(struct drops *drops, uint64_t i)
{
    if (drops->set->state[i] != PAGE_IDLE)
        return true;
    drops->rc = pagemap_invalidate(drops->pagemap_fd, page_set_hva(drops->set, i),
                                   base_page_bytes());
    if (drops->rc < 0)
        return false;
    drops->n++;
    if (drops->n % DROPS_AT_A_TIME == 0)
        drops->flushed = has_flushed(drops);
    return !drops->flushed && drops->n < DROPS_MAX;
}

/* Where no drop flushes the VM, only that of every page helps. */
static bool are_too_many(const struct page_set *set)
{
    uint64_t idle = 0;

    if (arch_host()->drop_flushes_vm)
        return false;
    for (uint64_t i = 0; idle < DROPS_MAX && i < set->n; i++)
        idle += set->state[i] == PAGE_IDLE;
    return idle >= DROPS_MAX;
}

/* From all over RAM, in rounds: KVM may have whole stretches of it unmapped. If every page was
 * dropped none has a translation that is stale, whether there was a flush or not. */
static bool flush_kvm(const struct target *target, const struct page_set *set, int pagemap_fd)
{
    struct drops drops = {.target = target, .set = set, .pagemap_fd = pagemap_fd};
    uint64_t step = set->n / DROPS_AT_A_TIME + 1;
    bool more = true;

    if (are_too_many(set))
        return false;
    drops.counted = kvm_tlb_flushes(target, &drops.flushes) == 0;
    for (uint64_t first = 0; more && first < step; first++)
        for (uint64_t i = first; more && i < set->n; i += step)
            more = drop_page(&drops, i);
    return drops.rc == 0 && (more || drops.flushed);
}

static bool can_be_advised(const struct ram_block *block)
{
    return !block->locked && block->backing != RAM_BACKING_HUGETLB;
}

/* All of RAM, also for a panel: the kernel flushes what it finds young again, and the panel's own
 * pages, whose translations are stale, are not; but where young pages lie more than 33 pages apart
 * it flushes all (arch/x86/mm/tlb.c). */
static bool flush_tcg(const struct target *target)
{
    const struct guest_ram *ram = target->ram;
    bool flushed = true;

    for (size_t b = 0; b < ram->n_blocks; b++) {
        struct iovec range = {.iov_base = (void *)(uintptr_t)ram->blocks[b].hva,
                              .iov_len = ram->blocks[b].bytes};

        flushed &= can_be_advised(&ram->blocks[b]) &&
                   !advice_splits(target->root, &ram->blocks[b]) &&
                   process_advise(target->process->pidfd, ADVISE_COLD, &range, 1) == 0;
    }
    return flushed;
}

bool tlb_flush(const struct target *target, const struct page_set *set, int pagemap_fd)
{
    return target->process->accel == ACCEL_KVM ? flush_kvm(target, set, pagemap_fd)
                                               : flush_tcg(target);
}

bool tlb_flush_guest(const struct target *target)
{
    cleanup_close int pagemap_fd = pagemap_open(target, NULL);
    struct page_set set;

    /* Twice as many as are dropped: those in ram->taken go, and none may be left only where all
     * others were dropped. */
    if (pagemap_fd < 0 || page_set_panel(&set, target->ram, 2UL * DROPS_MAX, random_seed()) < 0)
        return false;
    memset(set.state, PAGE_IDLE, set.n);

    bool flushed = tlb_flush(target, &set, pagemap_fd);

    page_set_free(&set);
    return flushed;
}

/* A vCPU's translations are those of the core it runs on. */
void tlb_doubt(const struct target *target, struct tally *tally)
{
    tally_doubt(tally, DOUBT_STALE_TLB, target->process->n_vcpus * TLB_ENTRIES);
}
