// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/method/tlb_flush.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/random.h"
#include "guest/arch/arch.h"
#include "guest/ram/gpa.h"
#include "measure/kernel/advise.h"
#include "measure/kernel/kvm_stats.h"
#include "measure/kernel/pagemap.h"

#include <string.h>

/* KVM's counter is checked after this many drops. Most guests have most of RAM mapped: the first
 * drops flush. */
#define DROPS_AT_A_TIME 16
#define DROPS_MAX 4096
/* Number of drops if the counter cannot be read. If KVM has 5 % of the present pages mapped, one in
 * 700 markings goes without a flush. */
#define DROPS_UNSEEN 128

/* Entries of the largest second-level TLBs, those for code included, rounded up: 4096 + 2048 in
 * AMD's Zen 5. */
#define TLB_ENTRIES 8192

struct drops {
    const struct target *target;
    const struct page_set *set;
    int pagemap_fd;
    struct gpa_layout layout;
    bool has_layout;
    bool counted;     /* KVM's counter can be read, and ... */
    uint64_t flushes; /* ... its value before */
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

/* If a drop flushes all of the VM, one drop per page is enough. Otherwise all of its unit must be
 * dropped, because its idle flag covers all pieces in which KVM maps it. */
static int drop_unit(const struct drops *drops, uint64_t i)
{
    const struct page_set *set = drops->set;
    const struct ram_block *block = guest_ram_block(set->ram, page_set_page(set, i));
    const uint64_t unit = page_set_unit_hva(set, i);
    const uint64_t begin = larger(unit, block->hva);
    const uint64_t end = smaller(unit + (base_page_bytes() << set->order[i]),
                                 block->hva + block->bytes);

    if (arch_host()->drop_flushes_vm)
        return pagemap_invalidate(drops->pagemap_fd, page_set_hva(set, i), base_page_bytes());
    return pagemap_invalidate(drops->pagemap_fd, begin, end - begin);
}

/* Returns true for another draw of the previous unit. */
static bool is_same_unit(const struct drops *drops, uint64_t i)
{
    const struct page_set *set = drops->set;

    return !arch_host()->drop_flushes_vm && i > 0 && set->order[i] > 0 &&
           set->state[i - 1] == PAGE_IDLE && set->order[i - 1] == set->order[i] &&
           page_set_unit_hva(set, i - 1) == page_set_unit_hva(set, i);
}

/* Pages that are not idle are absent, unmeasurable, or were rightly found touched. False: enough
 * pages were dropped. */
static bool drop_page(struct drops *drops, uint64_t i)
{
    if (drops->set->state[i] != PAGE_IDLE || is_same_unit(drops, i))
        return true;
    drops->rc = drop_unit(drops, i);
    if (drops->rc < 0)
        return false;
    drops->n++;
    if (drops->n % DROPS_AT_A_TIME == 0)
        drops->flushed = has_flushed(drops);
    return !drops->flushed && drops->n < DROPS_MAX;
}

/* The number of pieces in which KVM may map the unit of a page. */
static uint64_t pieces(const struct drops *drops, uint64_t i)
{
    const unsigned order = drops->set->order[i];
    const unsigned kvm_order = drops->has_layout
                                   ? gpa_kvm_order(&drops->layout, drops->set->ram,
                                                   page_set_page(drops->set, i), order)
                                   : 0;

    return 1ULL << (order - kvm_order);
}

/* If no drop flushes the VM, only dropping every page helps. */
static bool are_too_many(struct drops *drops)
{
    const struct target *target = drops->target;
    uint64_t idle = 0;

    drops->has_layout = gpa_layout_deduce(target->root, target->process, target->ram,
                                          &drops->layout, NULL) == 0;
    for (uint64_t i = 0; idle < DROPS_MAX && i < drops->set->n; i++)
        if (drops->set->state[i] == PAGE_IDLE && !is_same_unit(drops, i))
            idle += pieces(drops, i);
    return idle >= DROPS_MAX;
}

/* Drops pages from all over RAM, in rounds, because KVM may have whole stretches of it unmapped. If
 * every page was dropped, no page has a stale translation, whether there was a flush or not. */
static bool flush_kvm(const struct target *target, const struct page_set *set, int pagemap_fd)
{
    struct drops drops = {.target = target, .set = set, .pagemap_fd = pagemap_fd};
    uint64_t step = set->n / DROPS_AT_A_TIME + 1;
    bool more = true;

    if (!arch_host()->drop_flushes_vm && are_too_many(&drops))
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

/* Covers all of RAM, also for a panel: the kernel flushes the pages that it finds young again. The
 * panel's own pages have stale translations and are not young; but if young pages lie more than 33
 * pages apart, it flushes all (arch/x86/mm/tlb.c). */
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

    /* twice as many as are dropped: those in ram->taken go, and no page may be left only if all
     * others were dropped */
    if (pagemap_fd < 0 || page_set_panel(&set, target->ram, 2UL * DROPS_MAX, random_seed()) < 0)
        return false;
    memset(set.state, PAGE_IDLE, set.n);

    bool flushed = tlb_flush(target, &set, pagemap_fd);

    page_set_free(&set);
    return flushed;
}

/* A vCPU's translations are in the TLB of the core on which it runs. */
void tlb_doubt(const struct target *target, struct tally *tally)
{
    tally_doubt(tally, DOUBT_STALE_TLB, target->process->n_vcpus * TLB_ENTRIES);
}
