// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file damon.c  Method `damon`: DAMON as a sampler of chosen pages. KVM and TCG, any backing.
 *
 * Theory of operation. DAMON samples one page of each of its regions; here every region is one
 * page, so it samples the pages of the panel and no others. When its kernel thread begins it clears
 * the accessed bits of each, KVM's included (through the MMU notifiers), sets the idle flag, and
 * sleeps; when it is turned off it samples each page once more, reports through a tracepoint
 * whether it was accessed, and ends (damon_sysfs.h, damon_trace.h). So one life of that thread is
 * exactly one window. collect() ends one window and begins the next at once: touches add up, except
 * those between a page's sample and its next marking, one pass over the panel later (2,000 pages:
 * some milliseconds).
 *
 * The thread takes a while to start, which est window counts: with 90 % of a guest hot, windows of
 * 30 ms in the emulated lab came out 3.7 points of resident memory low, those of 60 ms and more 0.1
 * to 0.4, within the error of 40 periods.
 *
 * DAMON reports a page that it cannot sample as "not accessed", which must not be taken for cold. A
 * page counts as idle only if it was reported, and had the idle flag (/proc/kpageflags) after
 * marking and after the last sample: pages off the LRU (isolated, in a per-CPU batch), or whose
 * frame was replaced by khugepaged, do not have it. A page that was migrated meanwhile does not
 * count as idle either, if KVM's accessed bit is lost then (carried_bits.h). The zero page counts
 * as absent, and pages that came or went within the window as touched or absent, as with `idle`.
 *
 * The granularity is that of the mapping, because the accessed bit belongs to the page-table entry:
 * a base page also within a large folio that is mapped page by page, a huge page for a THP, the
 * page size for hugetlb. One unit has one region, however many draws fell into it. A mapping that
 * changed its size within the window is unmeasurable: a page that khugepaged collapsed reads hot,
 * and the rest of a unit that was split is not sampled. A huge page that KVM maps in pieces is
 * unmeasurable: a PC's first one, and those that gpa_kvm_order() names.
 *
 * The idle flag belongs to the folio but the accessed bit to this process's mapping: pages merged
 * by KSM are measurable. Touches by other processes through mappings of their own (vhost-user) are
 * not seen. DAMON passes an address within the page where KVM expects its begin, so KVM's bit of
 * the following page is cleared as well, and that of the following huge page; therefore all marking
 * of a panel comes before all sampling.
 *
 * No flush follows when accessed bits are cleared, so one is forced, as for `idle` (tlb_flush.h).
 *
 * The method offers no census: a region costs three nodes of sysfs, about 1 KiB of kernel memory,
 * before anything is measured. It needs exclusive use of DAMON, which exists once per host; see
 * damon_sysfs.h, also for kill -9. It leaves idle flags on pages that were not touched since, as
 * `idle` does.
 */
#include "base/cleanup.h"
#include "base/page_sizes.h"
#include "guest/ram/gpa.h"
#include "measure/kernel/carried_bits.h"
#include "measure/kernel/collapses.h"
#include "measure/kernel/damon_sysfs.h"
#include "measure/kernel/damon_trace.h"
#include "measure/kernel/kpage_shared.h"
#include "measure/kernel/pagemap.h"
#include "measure/kernel/swap_ins.h"
#include "measure/kernel/trace_event.h"
#include "measure/method.h"
#include "measure/method/damon_judge.h"
#include "measure/method/damon_regions.h"
#include "measure/method/tlb_flush.h"
#include "measure/method/trial.h"
#include "measure/page_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

/* --- a trial: does DAMON see this guest's touches? -------------------------------------------- */

#define TRIAL_PAGES 256
#define LARGE_TRIAL_PAGES 4096 /* for a guest whose hot pages are hardly one in a hundred */

/* Returns true if KVM maps these pages in pieces by gpa_kvm_order(). This does not cover the first
 * huge page of a PC, which KVM does not map whole either. */
static bool in_pieces(const struct target *target, const struct trial *trial)
{
    struct gpa_layout layout;

    return target->process->accel == ACCEL_KVM && trial->huge_unmeasurable > 0 &&
           gpa_layout_deduce(target->root, target->process, target->ram, &layout, NULL) == 0 &&
           gpa_kvm_order(&layout, target->ram, trial->huge_page, trial->huge_order) <
               trial->huge_order;
}

/*
 * As trial_judge(). If it refuses because KVM maps this guest's huge pages in smaller pieces, @p
 * why says so: the method counts these pages as unmeasurable, but sees the others.
 */
static int damon_trial_judge(const struct target *target, const struct trial *trial,
                             struct error *why)
{
    const int rc = trial_judge(trial, why);

    if (rc == 0 || !in_pieces(target, trial))
        return rc;
    return error_set(
        why, -ENOTSUP,
        "%" PRIu64 " of %" PRIu64 " pages are in huge pages of %" PRIu64
        " KiB that KVM maps in smaller pieces, as it has none of that size, or they are not "
        "aligned alike in the guest's memory and in QEMU's: DAMON would look at one piece of each, "
        "so it counts them as unmeasurable; none of the other pages was seen touched. zap looks at "
        "every piece",
        trial->huge_unmeasurable, trial_pages(trial), base_page_bytes() << trial->huge_order >> 10);
}

/* Measures some hundred pages of the guest, and thousands if none of them was touched. 0, or the
 * error of damon_trial_judge(). */
static int damon_sees_guest(const struct target *target, struct error *why)
{
    struct trial trial = {0};
    int rc = trial_run(&method_damon, target, TRIAL_PAGES, &trial, why);

    if (rc < 0 || trial_judge(&trial, NULL) == 0)
        return rc;
    rc = trial_run(&method_damon, target, LARGE_TRIAL_PAGES, &trial, why);
    return rc < 0 ? rc : damon_trial_judge(target, &trial, why);
}

/* --- one window ------------------------------------------------------------------------------- */

static void damon_see_region(uint64_t start, unsigned nr_accesses, void *context)
{
    struct region *region = damon_find_region(context, start);

    if (region) {
        region->told = true;
        region->accessed |= nr_accesses > 0;
    }
}

/* Clears the accessed bits, waits until that is done, and finds the pages for which it
 * succeeded. */
static int begin_window(struct damon *damon, struct error *error)
{
    pid_t kdamond;

    damon->lost = 0;
    damon->stale_now = false;
    if (damon->n_regions == 0)
        return 0;

    int rc = damon_slot_on(damon->slot, &kdamond, error);

    if (rc == 0)
        rc = damon_trace_open(damon->target->root, kdamond, damon->n_regions, damon->wake_fd,
                              &damon->trace, error);
    if (rc == 0)
        rc = damon_read_flags(damon, error);
    for (uint64_t r = 0; rc == 0 && r < damon->n_regions; r++) {
        struct region *region = &damon->regions[r];

        region->marked = damon_carries_mark(damon, r);
        region->pfn = damon->pfn[r];
        region->told = region->accessed = false;
    }
    if (rc == 0)
        damon->stale_now = !tlb_flush(damon->target, damon->set, damon->pagemap_fd);
    return rc;
}

/* Turns DAMON off and reads its findings. */
static int end_window(struct damon *damon, struct error *error)
{
    int rc = damon_slot_off(damon->slot, error);

    damon->stale |= damon->stale_now;
    if (!damon->trace)
        return rc;
    damon_trace_drain(damon->trace, damon_see_region, damon);
    damon->lost = damon_trace_lost(damon->trace);
    damon->cpu_ns += damon_trace_cpu_ns(damon->trace);
    damon_trace_free(damon->trace);
    damon->trace = NULL;
    return rc;
}

/* --- the table -------------------------------------------------------------------------------- */

static void damon_close(void *state)
{
    struct damon *damon = state;

    damon_slot_give_back(damon->slot);
    damon_trace_free(damon->trace);
    cleanup_close_at(&damon->pagemap_fd);
    kpage_release(&damon->flags_fd);
    cleanup_close_at(&damon->wake_fd);
    free(damon->regions);
    free(damon->pfn);
    free(damon->flags);
    free(damon->watched);
    free(damon);
}

static int allocate(struct damon *damon, struct error *error)
{
    uint64_t n = damon->set->n;
    uint64_t regions = n < MAX_REGIONS ? n : MAX_REGIONS;

    damon->regions = calloc(regions, sizeof(*damon->regions));
    damon->pfn = calloc(regions, sizeof(*damon->pfn));
    damon->flags = calloc(regions, sizeof(*damon->flags));
    damon->watched = calloc(n, sizeof(*damon->watched));
    if (damon->regions && damon->pfn && damon->flags && damon->watched)
        return 0;
    return error_set(error, -ENOMEM, "damon: out of memory");
}

static int open_all(struct damon *damon, struct error *error)
{
    const struct target *target = damon->target;
    int rc = allocate(damon, error);

    if (rc < 0)
        return rc;
    damon->pagemap_fd = pagemap_open(target, error);
    if (damon->pagemap_fd < 0)
        return damon->pagemap_fd;
    damon->flags_fd = kpageflags_share(target->root, error);
    if (damon->flags_fd < 0)
        return damon->flags_fd;
    damon->wake_fd = trace_wake_open();
    if (damon->wake_fd < 0)
        return error_set(error, damon->wake_fd, "damon: %s", strerror(-damon->wake_fd));
    damon->collapses = collapses_read(target->root);
    damon->devices = swap_devices_read(target->root);
    damon->carried = accessed_bits_are_carried(target);
    damon->has_layout = gpa_layout_deduce(target->root, target->process, target->ram,
                                          &damon->layout, NULL) == 0;
    rc = page_probe_each(damon->pagemap_fd, damon->set, page_any, true, damon_note_page, damon);
    if (rc < 0)
        return error_set(error, rc, "pagemap: %s", strerror(-rc));
    rc = damon_slot_take(target->root, target->process->pid, &damon->slot, error);
    return rc < 0 ? rc : damon_make_regions(damon, error);
}

static int damon_open(const struct target *target, struct page_set *set, void **state,
                      struct error *error)
{
    struct damon *damon = set->page ? calloc(1, sizeof(*damon)) : NULL;

    if (!damon)
        return set->page ? error_set(error, -ENOMEM, "damon: out of memory")
                         : error_set(error, -ENOTSUP, "damon: takes no census");
    damon->target = target;
    damon->set = set;
    damon->pagemap_fd = damon->flags_fd = damon->wake_fd = -1;

    int rc = open_all(damon, error);

    if (rc < 0)
        damon_close(damon);
    else
        *state = damon;
    return rc;
}

/* True if a page must be marked for which no region stands. */
static bool forget_touches(struct damon *damon)
{
    struct page_set *set = damon->set;
    bool unwatched = false;

    for (uint64_t i = 0; i < set->n; i++)
        if (page_is_gone((enum page_state)set->state[i])) {
            set->state[i] = set->state[i] == PAGE_GONE ? PAGE_ABSENT : PAGE_SWAPPED;
        } else if (page_needs_rearm((enum page_state)set->state[i]) && !damon_in_pieces(damon, i)) {
            set->state[i] = PAGE_IDLE;
            unwatched |= !damon->watched[i];
        }
    return unwatched;
}

static int damon_mark(void *state, struct error *error)
{
    struct damon *damon = state;
    int rc = end_window(damon, error);

    damon->stale = false;
    if (rc == 0)
        rc = damon_read_frames(damon, error);
    if (rc == 0 && forget_touches(damon)) { /* some pages appeared since the regions were made */
        rc = damon_make_regions(damon, error);
        if (rc == 0)
            rc = damon_read_frames(damon, error);
    }
    return rc < 0 ? rc : begin_window(damon, error);
}

/* DAMON reports a window of more than an hour in parts. */
static int damon_poll(void *state, struct error *error)
{
    struct damon *damon = state;

    (void)error;
    trace_wake_clear(damon->wake_fd);
    if (damon->trace)
        damon_trace_drain(damon->trace, damon_see_region, damon);
    return 0;
}

static int damon_wake_fd(void *state)
{
    const struct damon *damon = state;

    return damon->wake_fd;
}

static int damon_stop(void *state, struct error *error)
{
    return end_window(state, error);
}

static int damon_collect(void *state, struct tally *tally, struct error *error)
{
    struct damon *damon = state;
    int rc = end_window(damon, error);

    if (rc == 0)
        rc = damon_judge_regions(damon, error);
    if (rc == 0)
        page_set_tally(damon->set, tally);
    if (rc == 0 && damon->stale)
        tlb_doubt(damon->target, tally);
    return rc < 0 ? rc : begin_window(damon, error);
}

/* Makes the regions anew, because some pages have none. Findings about the other pages since they
 * were marked again count. */
static int rebuild(struct damon *damon, struct error *error)
{
    int rc = end_window(damon, error);

    if (rc == 0)
        rc = damon_judge_regions(damon, error);
    if (rc == 0)
        rc = damon_make_regions(damon, error);
    if (rc == 0)
        rc = damon_read_frames(damon, error);
    return rc < 0 ? rc : begin_window(damon, error);
}

/* Reading marked all pages again; so rearming only forgets the touches so far. */
static int damon_rearm(void *state, struct error *error)
{
    struct damon *damon = state;

    damon->stale = false;
    return forget_touches(state) ? rebuild(state, error) : 0;
}

static uint64_t damon_kernel_thread_ns(void *state)
{
    struct damon *damon = state;

    end_window(damon, NULL);
    return damon->cpu_ns;
}

/* --- trial on this guest ---------------------------------------------------------------------- */

static int damon_probe(const struct target *target, struct error *why)
{
    cleanup_close int fd = pagemap_open(target, why);

    if (fd < 0)
        return fd;

    int rc = pagemap_check_scan(fd, target->ram->blocks[0].hva, why);

    if (rc == 0)
        rc = damon_sysfs_free(target->root, why);
    return rc < 0 ? rc : damon_sees_guest(target, why);
}

static int damon_host(const struct fsroot *root, struct error *why)
{
    cleanup_close int fd = fsroot_openf(root, O_RDONLY, "proc/self/pagemap");
    int rc = pagemap_check_scan(fd, 0, why);

    if (rc == 0)
        rc = damon_sysfs_free(root, why);
    return rc < 0 ? rc : damon_trace_host(root, why);
}

const struct method method_damon = {
    .name = "damon",
    .summary = "accessed bits of host and KVM page tables, page by page, by DAMON",
    .signal = SIGNAL_IDLE_FLAG,
    .panel = true,
    .needs_pages = true,
    .rank = {[ORDER_KVM] = 2, [ORDER_KVM_AGEING] = 4},
    .sees_qemu = true,
    .verified_page_sizes = BASE_ALL,
    .host = damon_host,
    .probe = damon_probe,
    .open = damon_open,
    .mark = damon_mark,
    .wake = {.poll = damon_poll, .fd = damon_wake_fd},
    .stop = damon_stop,
    .collect = damon_collect,
    .rearm = damon_rearm,
    .kernel_thread_ns = damon_kernel_thread_ns,
    .close = damon_close,
};
