// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file referenced.c  Method `referenced`: clear_refs = 1, wait, smaps Referenced. TCG guests only.
 *
 * Theory of operation: writing 1 to clear_refs clears the accessed bit of every PTE and the
 * referenced and young flags of the pages; smaps then counts the pages that were accessed again. It
 * is the only method that every kernel has. A KVM guest's accesses set other bits, so it does not
 * see them.
 *
 * Clearing does not flush the TLB, and a page whose translation stays cached sets no bit, so a hot
 * set that the TLB holds reads low: of 1.02 MiB in 4 KiB pages, on a vCPU that kept its core,
 * clear_refs alone saw 0.11 to 1.00 MiB in 0.1 s, and 3.49 to 4.02 of 4.02 MiB
 * (tests/bench/stale-tlb, Linux 6.18; 16 MiB and all huge pages were right there, elsewhere a 64
 * MiB loop on huge pages read 104, 40, 108, 41 MiB). On a busy host other tasks evict the
 * translations and hide the error. Therefore 4 is written after 1: its work, to write-protect for
 * soft-dirty tracking, ends in a flush of the whole address space (fs/proc/task_mmu.c,
 * clear_refs_write()); with it all of these were exact. MADV_COLD flushes at a lower cost, but
 * where it can be used, so can `cold`.
 *
 * Its cost: two walks of QEMU's page tables with its mmap lock held for writing, and a minor fault
 * for each page at its next write. It loses soft-dirty bits that another process (CRIU) may be
 * collecting. It has nothing to restore: accessed bits come back with the next access. Until then,
 * reclaim on the host considers pages that were not touched since colder than they are.
 */
#include "measure/kernel/clear_refs.h"
#include "measure/method/referenced_count.h"

static int referenced_open(const struct target *target, struct page_set *set, void **state,
                           struct error *error)
{
    (void)set;
    return referenced_count_open(target, state, error);
}

static int referenced_mark(void *state, struct error *error)
{
    struct referenced_count *count = state;
    int rc = referenced_count_begin(count, error);

    if (rc == 0)
        rc = clear_refs(count->target, CLEAR_REFS_REFERENCED, error);
    if (rc == 0)
        rc = clear_refs(count->target, CLEAR_REFS_SOFT_DIRTY, error); /* for its flush */
    if (rc == 0)
        referenced_count_marked(count);
    return rc;
}

static int referenced_collect(void *state, struct tally *tally, struct error *error)
{
    return referenced_count_tally(state, tally, error);
}

const struct method method_referenced = {
    .name = "referenced",
    .summary = "accessed bits of QEMU's page tables: clear_refs and smaps Referenced (TCG only)",
    .signal = SIGNAL_REFERENCED,
    .census = true,
    .rank = {[ORDER_TCG] = 4, [ORDER_TCG_AGEING] = 4},
    .sees_qemu = true,
    .host = referenced_count_host,
    .probe = referenced_count_probe,
    .open = referenced_open,
    .mark = referenced_mark,
    .collect = referenced_collect,
    .wake = {.between = referenced_count_between},
    .close = referenced_count_close,
};
