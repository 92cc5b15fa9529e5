// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file zap_all.c  Method `zap-all`: MMU invalidation of the whole VM, counted by KVM itself.
 *
 * Theory of operation: writing 4 to clear_refs (clear soft-dirty) fires the MMU notifier for the whole
 * address space, and KVM drops every mapping of the guest. Each page that the guest then touches faults
 * once and is mapped again; KVM's counters pages_4k, pages_2m and pages_1g, times their sizes, are the
 * bytes touched since, whatever the backing (anon, THP, memfd, hugetlb, mlocked). Reading page flags
 * instead (the older way: clear_refs 4, then 1, then KPF_REFERENCED) is blind to hugetlb, and to locked
 * pages under MGLRU, so the counters are the only detector here.
 *
 * What it costs: the mmap lock of QEMU for writing while all page tables are walked; one fault for each
 * page of the working set; every host PTE is write-protected once. For a short look, not for a steady
 * watch. It loses soft-dirty bits that somebody else (CRIU) may be collecting.
 * What else is counted: ROM and video RAM that the guest touches, a few pages; and what a nested guest
 * maps. What is not: accesses by QEMU and vhost.
 * Nothing to restore: mappings come back with the next access.
 */
#include "base/bytes.h"
#include "sample/kernel/clear_refs.h"
#include "sample/kernel/kvm_stats.h"
#include "sample/kernel/ram_smaps.h"
#include "sample/method.h"

#include <errno.h>
#include <string.h>

static int zap_all_host(const struct fsroot *root, struct error *why)
{
    if (!fsroot_exists(root, "proc/self/clear_refs"))
        return error_set(why, -ENOENT,
                         "/proc/PID/clear_refs is missing: the kernel needs "
                         "CONFIG_PROC_PAGE_MONITOR=y");
    return kvm_stats_host(root, why);
}

static int zap_all_probe(const struct target *target, struct error *why)
{
    uint64_t mapped_bytes;

    if (target->process->accel != ACCEL_KVM)
        return error_set(why, -ENOTSUP,
                         "has no effect on TCG guests: there is no KVM mapping to drop");
    if (!fsroot_exists(target->root, "proc/%d/clear_refs", target->process->pid))
        return error_set(why, -ENOENT, "/proc/%d/clear_refs is missing", target->process->pid);

    int rc = kvm_mapped_bytes(target, &mapped_bytes, why);

    if (rc < 0)
        return rc;
    if (mapped_bytes == 0)
        return error_set(why, -ENODATA, "KVM maps nothing of this guest: its vCPUs have not run");
    return 0;
}

static int zap_all_open(const struct target *target, struct page_set *set, void **state,
                        struct error *error)
{
    (void)set;
    (void)error;
    *state = (void *)target;
    return 0;
}

/* Proves itself each time: if the mapped bytes do not fall and no fault was resolved meanwhile (a small working set
 * is mapped again before we have read the counters), KVM was not told, and there is no number. */
static int zap_all_mark(void *state, struct error *error)
{
    const struct target *target = state;
    uint64_t before_bytes = 0;
    uint64_t after_bytes = 0;
    uint64_t faults = kvm_faults_fixed(target);
    int rc = kvm_mapped_bytes(target, &before_bytes, error);

    if (rc == 0)
        rc = clear_refs(target, CLEAR_REFS_SOFT_DIRTY, error);
    if (rc == 0)
        rc = kvm_mapped_bytes(target, &after_bytes, error);
    if (rc < 0)
        return rc;
    if (before_bytes > (1ULL << 20) && after_bytes >= before_bytes &&
        kvm_faults_fixed(target) == faults)
        return error_set(error, -ENOTSUP,
                         "zap-all: KVM did not drop its mappings (%llu MiB before and "
                         "after); CONFIG_MEM_SOFT_DIRTY may be missing",
                         (unsigned long long)(after_bytes >> 20));
    return 0;
}

/* What is resident counts by the host's pages, and what of it was touched by KVM's, which may be smaller: their counters
 * include ROM and video RAM, so the sum may be too large by some pages. */
static void add_strata(const struct ram_smaps *sums, const uint64_t mapped[KVM_SIZES],
                       struct tally *tally)
{
    uint64_t huge = smaller(sums->huge_bytes + sums->hugetlb_bytes, tally->resident_bytes);
    uint64_t giant = smaller(mapped[2], huge);
    const uint64_t resident[KVM_SIZES] = {tally->resident_bytes - huge, huge - giant, giant};
    uint64_t left = tally->touched_bytes;

    for (size_t i = KVM_SIZES; i-- > 0;) {
        struct stratum *stratum = tally_stratum(tally, kvm_size_bytes[i]);
        uint64_t touched = smaller(mapped[i], left);

        stratum->draws = resident[i] / BASE_PAGE_BYTES;
        stratum->touched_units = touched / BASE_PAGE_BYTES;
        left -= touched;
    }
}

static int zap_all_collect(void *state, struct tally *tally, struct error *error)
{
    const struct target *target = state;
    struct ram_smaps sums = {0};
    uint64_t mapped[KVM_SIZES];
    int rc = kvm_mapped_sizes(target, mapped, error);

    if (rc == 0)
        rc = ram_smaps_read(target, &sums, error);
    if (rc < 0)
        return rc;

    memset(tally, 0, sizeof(*tally));
    tally->census = true;
    tally->resident_bytes = sums.resident_bytes + sums.hugetlb_bytes;
    tally->touched_bytes = smaller(mapped[0] + mapped[1] + mapped[2], tally->resident_bytes);
    tally->swapped_pages = sums.swapped_bytes / BASE_PAGE_BYTES;
    add_strata(&sums, mapped, tally);
    return 0;
}

static void zap_all_close(void *state)
{
    (void)state;
}

const struct method method_zap_all = {
    .name = "zap-all",
    .summary = "MMU invalidation of the whole VM by clear_refs, counted by KVM (KVM only)",
    .census = true,
    .rank = {[ORDER_KVM] = 5, [ORDER_KVM_AGEING] = 5},
    .host = zap_all_host,
    .probe = zap_all_probe,
    .open = zap_all_open,
    .mark = zap_all_mark,
    .collect = zap_all_collect,
    .close = zap_all_close,
};
