// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file zap_all.c  Method `zap-all`: MMU invalidation of the whole VM, counted by KVM itself.
 *
 * Theory of operation: writing 4 to clear_refs (clear soft-dirty) fires the MMU notifier for the
 * whole address space, and KVM drops every mapping of the guest. Each page that the guest then
 * touches faults once and is mapped again; KVM's counters pages_4k, pages_2m and pages_1g, times
 * their sizes, are the bytes touched since, whatever the backing (anon, THP, memfd, hugetlb,
 * mlocked). Reading page flags instead (the older way: clear_refs 4, then 1, then KPF_REFERENCED)
 * is blind to hugetlb, and to locked pages under MGLRU, so the counters are the only detector here.
 *
 * Its cost: the mmap lock of QEMU for writing while all page tables are walked; one fault for each
 * page of the working set; every host PTE is write-protected once. It is for a single measurement,
 * not for a steady watch. It loses soft-dirty bits that another process (CRIU) may be collecting.
 * It also counts ROM and video RAM that the guest touches, a few pages, and the mappings of a
 * nested guest. It does not count accesses by QEMU and vhost. It has nothing to restore: mappings
 * come back with the next access.
 *
 * A mapping that is dropped again within the window takes its touch with it. This happens when huge
 * pages are split or joined, when pages migrate, or when QEMU moves a device's memory (KVM then
 * drops all mappings). The method detects it by a decrease of the mappings, which it checks four
 * times a second, because hot pages are soon back, or by a change in the share of huge pages. Then
 * more pages may have been touched. Memory that leaves, touched or not, looks the same.
 */
#include "base/bytes.h"
#include "base/cleanup.h"
#include "measure/kernel/clear_refs.h"
#include "measure/kernel/kvm_stats.h"
#include "measure/kernel/ram_smaps.h"
#include "measure/method.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define CHECK_NS 250000000L

/* Pages that were read first and then written: the kernel replaces the zero page for them. */
#define FEW_SHARE 128

struct zap_all {
    const struct target *target;
    int timer_fd;
    uint64_t huge_bytes;   /* at the beginning of the window */
    uint64_t mapped_bytes; /* at the last check */
    bool dropped;          /* mappings were dropped within the window */
};

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
    uint64_t mapped_bytes = 0;

    if (target->process->accel != ACCEL_KVM)
        return error_set(why, -ENOTSUP,
                         "has no effect on TCG guests: there is no KVM mapping to drop");
    if (!fsroot_exists(target->root, "proc/%d/clear_refs", target->process->pid))
        return error_set(why, -ENOENT, "/proc/%d/clear_refs is missing", target->process->pid);

    int rc = kvm_stats_host(target->root, why);

    if (rc == 0)
        rc = kvm_mapped_bytes(target, &mapped_bytes, why);
    if (rc < 0)
        return rc;
    if (mapped_bytes == 0)
        return error_set(why, -ENODATA, "KVM maps nothing of this guest: its vCPUs have not run");
    return 0;
}

static void zap_all_close(void *state)
{
    struct zap_all *all = state;

    cleanup_close_at(&all->timer_fd);
    free(all);
}

static int zap_all_open(const struct target *target, struct page_set *set, void **state,
                        struct error *error)
{
    const struct itimerspec every = {.it_interval.tv_nsec = CHECK_NS, .it_value.tv_nsec = CHECK_NS};
    struct zap_all *all = calloc(1, sizeof(*all));

    (void)set;
    if (!all)
        return error_set(error, -ENOMEM, "zap-all: out of memory");
    all->target = target;
    all->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (all->timer_fd < 0 || timerfd_settime(all->timer_fd, 0, &every, NULL) < 0) {
        int rc = error_set(error, -errno, "zap-all: timer: %s", strerror(errno));

        zap_all_close(all);
        return rc;
    }
    *state = all;
    return 0;
}

static void note_mapped(struct zap_all *all, uint64_t bytes)
{
    all->dropped |= bytes + all->mapped_bytes / FEW_SHARE < all->mapped_bytes;
    all->mapped_bytes = bytes;
}

/* Each call proves itself: if the mapped bytes do not fall and no fault was resolved meanwhile (a
 * small working set is mapped again before the counters are read), KVM was not notified, and there
 * is no result. */
static int drop_all(const struct target *target, struct error *error)
{
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

static int zap_all_mark(void *state, struct error *error)
{
    struct zap_all *all = state;
    struct ram_smaps sums;
    int rc = ram_smaps_read(all->target, &sums, error);

    if (rc == 0)
        rc = drop_all(all->target, error);
    all->huge_bytes = sums.huge_bytes;
    all->mapped_bytes = 0;
    all->dropped = false;
    return rc;
}

static int zap_all_poll(void *state, struct error *error)
{
    struct zap_all *all = state;
    uint64_t expired;
    uint64_t bytes;
    int rc = kvm_mapped_bytes(all->target, &bytes, error);

    (void)!read(all->timer_fd, &expired, sizeof(expired));
    if (rc == 0)
        note_mapped(all, bytes);
    return rc;
}

static int zap_all_wake_fd(void *state)
{
    const struct zap_all *all = state;

    return all->timer_fd;
}

/* Resident memory is counted in the host's pages, and its touched part in KVM's, which may be
 * smaller: their counters include ROM and video RAM, so the sum may be too large by some pages. */
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

        stratum->draws = base_pages(resident[i]);
        stratum->touched_units = base_pages(touched);
        left -= touched;
    }
}

static int zap_all_collect(void *state, struct tally *tally, struct error *error)
{
    struct zap_all *all = state;
    struct ram_smaps sums = {0};
    uint64_t mapped[KVM_SIZES];
    int rc = kvm_mapped_sizes(all->target, mapped, error);

    if (rc == 0)
        rc = ram_smaps_read(all->target, &sums, error);
    if (rc < 0)
        return rc;
    note_mapped(all, mapped[0] + mapped[1] + mapped[2]);

    memset(tally, 0, sizeof(*tally));
    tally->census = true;
    tally->resident_bytes = sums.resident_bytes + sums.hugetlb_bytes;
    tally->touched_bytes = smaller(mapped[0] + mapped[1] + mapped[2], tally->resident_bytes);
    tally->swapped_pages = base_pages(sums.swapped_bytes);
    add_strata(&sums, mapped, tally);
    if (all->dropped || sums.huge_bytes != all->huge_bytes)
        tally_doubt(tally, DOUBT_DROPPED, HIDDEN_ANY);
    return 0;
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
    .wake = {.poll = zap_all_poll, .fd = zap_all_wake_fd},
    .collect = zap_all_collect,
    .close = zap_all_close,
};
