// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file zap.c  Method `zap`: MMU invalidation of chosen pages, one at a time. KVM guests only.
 *
 * Theory of operation. pagemap_invalidate() makes KVM drop its mapping of one page and flush; the
 * data, QEMU's own page table and swap are untouched, and so is a huge page. If the guest touches
 * the page again it faults once, at a guest-physical address that perf shows. A page whose fault
 * was seen since it was dropped is touched; no accessed bit and no TLB is involved, so the backing
 * does not matter.
 *
 * The choice of the detector: three were measured on guests with known hot pages, 504 of 4,000
 * drawn (tests/bench/zap-detectors, Linux 6.12):
 *   - KVM's tracepoint of a fault (kvm_page_fault) through perf: saw 504, and no cold one, on
 * anonymous, memfd and locked memory. One record per fault, with its address. Needs the GPA of a
 * page (gpa.h), which is deduced and then proved here.
 *   - KVM's counters: drop the page a second time and see whether pages_4k falls. Needs no GPA, but
 *     saw 252: pages that fault again between the two readings, this one or others, hide the fall.
 *   - KPF_REFERENCED, which KVM sets when it drops an accessed mapping: saw 504 as well, but has to
 *     clear the flag first by MADV_COLD, which changes the page's place on the LRU and is
 *     impossible for locked and hugetlb memory; and since Linux 6.13 KVM sets it when mapping
 *     instead.
 *
 * With a huge mapping one drop removes all of it and any touch in it faults: one observation. If
 * KVM cannot map a huge page of the host as one (gpa_kvm_order()), each piece is one observation. A
 * vCPU that is plugged within a window is found at the window's end: until then its faults are not
 * seen, which is a doubt. A vCPU that is unplugged by then shows by its time in the guest, if it
 * was there at a timer tick; it is treated the same, although its faults may have been seen.
 *
 * Faults do not show pages that leave or that others bring, so each collection reads the page table
 * too: pages missing there are no longer resident. A page that appeared without a fault of its own
 * was touched if it came as part of a huge page in which there was a fault. Otherwise QEMU, vhost
 * or khugepaged brought it, and it is not known whether the guest touched it. The same is not known
 * if khugepaged has joined pages that were dropped one by one: the first touch maps them all.
 * Accesses by QEMU and vhost themselves (device emulation) are not seen; `idle` sees them. The cost
 * per page is one drop, and one fault of the guest if the page is hot. It has nothing to restore:
 * mappings come back with the next access, also after kill -9; the perf events end with the
 * process.
 */
#include "base/bytes.h"
#include "base/cleanup.h"
#include "guest/ram/gpa.h"
#include "measure/kernel/collapses.h"
#include "measure/kernel/fault_trace.h"
#include "measure/kernel/pagemap.h"
#include "measure/kernel/trace_event.h"
#include "measure/method.h"
#include "measure/method/zap_faults.h"
#include "measure/method/zap_trial.h"
#include "measure/page_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define PANEL_RING_BYTES (256UL << 10) /* for each vCPU */
/* Every page of the working set faults once, immediately. */
#define CENSUS_RING_BYTES (4UL << 20)
#define FLOODED_RING_BYTES (1UL << 20)
#define DRAIN_EVERY_PAGES 256
#define RANGE_PAGES 512
#define ALL_RINGS_BYTES (64UL << 20) /* limit of unswappable memory for all vCPUs together */

/* --- marking ---------------------------------------------------------------------------------- */

/* The probed mapping, as KVM has it. */
static struct page_probe as_kvm_maps(const struct zap *zap, uint64_t i,
                                     const struct page_probe *probe)
{
    const struct page_set *set = zap->set;
    struct page_probe piece = *probe;

    piece.order = gpa_kvm_order(&zap->layout, set->ram, page_set_page(set, i), probe->order);
    if (piece.order < probe->order)
        piece.unit_hva = page_set_hva(set, i) & ~((base_page_bytes() << piece.order) - 1);
    return piece;
}

/* The GPA of a DIMM cannot be deduced, so its faults cannot be distinguished from others. */
static void note_page(void *context, uint64_t i, const struct page_probe *probe)
{
    struct zap *zap = context;
    struct page_set *set = zap->set;
    const struct ram_block *block = guest_ram_block(set->ram, page_set_page(set, i));

    zap->to_drop[i] = true;
    set->state[i] = probe->state == PAGE_IDLE && block->dimm ? PAGE_UNMEASURABLE
                                                             : (uint8_t)probe->state;

    const struct page_probe piece = as_kvm_maps(zap, i, probe);

    page_set_note_unit(set, i, piece.order, piece.unit_hva);
}

/* Notes the pages whose state is @p wanted, in order to drop them. */
static int note_pages(struct zap *zap, bool (*wanted)(enum page_state))
{
    memset(zap->to_drop, 0, zap->set->n * sizeof(*zap->to_drop));
    memset(zap->near, 0, zap->set->n * sizeof(*zap->near));
    return page_probe_each(zap->pagemap_fd, zap->set, wanted, true, note_page, zap);
}

static int zap_panel(struct zap *zap)
{
    const struct page_set *set = zap->set;

    for (uint64_t i = 0; i < set->n; i++) {
        bool seen = i > 0 && set->order[i] > 0 && set->unit[i] == set->unit[i - 1];

        if (!zap->to_drop[i] || set->state[i] != PAGE_IDLE || seen)
            continue;

        /* drops all of a huge page, because KVM may map it in pieces (below 1 MiB, say, where ROMs
         * lie between) */
        int rc = pagemap_invalidate(zap->pagemap_fd, set->unit[i],
                                    base_page_bytes() << set->order[i]);

        if (rc < 0)
            return rc;
        if (i % DRAIN_EVERY_PAGES == 0)
            fault_trace_drain(zap->trace, zap_see_fault, zap);
    }
    return 0;
}

/* The step is a huge page if KVM may map one, so that no huge page is dropped twice; else it is
 * small, so that KVM's lock is never held for long: each drop may take a flush of its own. */
static uint64_t range_step(const struct zap *zap, const struct ram_block *block, uint64_t at)
{
    const unsigned order = gpa_kvm_order(&zap->layout, zap->target->ram,
                                         block->first_page + base_pages(at), huge_page_order());

    return order > 0 ? base_page_bytes() << order
                     : smaller(RANGE_PAGES * base_page_bytes(), huge_page_bytes());
}

/* Drops in steps, so that the records of the faults are fetched in between. */
static int zap_ranges(struct zap *zap)
{
    const struct guest_ram *ram = zap->target->ram;
    uint64_t step;

    for (size_t b = 0; b < ram->n_blocks; b++) {
        const struct ram_block *block = &ram->blocks[b];

        for (uint64_t at = 0; at < block->bytes; at += step) {
            step = range_step(zap, block, at);

            int rc = pagemap_invalidate(zap->pagemap_fd, block->hva + at,
                                        smaller(block->bytes - at, step));

            if (rc < 0)
                return rc;
            fault_trace_drain(zap->trace, zap_see_fault, zap);
        }
    }
    return 0;
}

static int follow_vcpus(struct zap *zap, struct error *error)
{
    bool grown = false;
    int rc = fault_trace_follow(zap->trace, zap->target, &grown, error);

    zap->unseen |= grown;
    zap->mapped |= grown;
    return rc;
}

static int zap_mark(void *state, struct error *error)
{
    struct zap *zap = state;
    int rc = follow_vcpus(zap, error);

    if (rc < 0)
        return rc;
    zap->unseen = zap->mapped = false;
    zap->collapses = collapses_read(zap->target->root);
    rc = note_pages(zap, page_any);
    if (rc == 0)
        rc = fault_trace_enable(zap->trace, true, error);
    if (rc == 0)
        rc = zap->set->page ? zap_panel(zap) : zap_ranges(zap);
    return rc < 0 ? error_set(error, rc, "zap: %s", strerror(-rc)) : 0;
}

/* For a panel only. All draws of a huge page were touched together, so they are dropped together
 * too. */
static int zap_rearm(void *state, struct error *error)
{
    struct zap *zap = state;
    int rc = -ENOTSUP;

    if (zap->set->page)
        rc = note_pages(zap, zap->mapped ? page_any : page_needs_rearm);
    zap->unseen = zap->mapped = false;
    if (rc == 0)
        rc = zap_panel(zap);
    return rc < 0 ? error_set(error, rc, "zap: %s", strerror(-rc)) : 0;
}

/* --- collecting ------------------------------------------------------------------------------- */

static int zap_poll(void *state, struct error *error)
{
    struct zap *zap = state;

    (void)error;
    trace_wake_clear(zap->wake_fd);
    fault_trace_drain(zap->trace, zap_see_fault, zap);
    return 0;
}

static int zap_wake_fd(void *state)
{
    const struct zap *zap = state;

    return zap->wake_fd;
}

/* Each lost record may have been the only fault of a page that looks idle. */
static void give_up_lost(struct zap *zap)
{
    uint64_t lost = fault_trace_lost(zap->trace);

    zap->mapped |= lost > zap->lost;
    for (uint64_t i = 0; i < zap->set->n && zap->lost < lost; i++)
        if (zap->set->state[i] == PAGE_IDLE) {
            zap->set->state[i] = PAGE_UNMEASURABLE;
            zap->lost++;
        }
    zap->lost = lost;
}

/* Handles a page that was missing when it was marked, and is present now. The zero page is no
 * memory of the guest. */
static void see_new(struct zap *zap, uint64_t i, const struct page_probe *probe)
{
    struct page_set *set = zap->set;
    struct page_mapping mapping = {0};
    uint64_t hva = page_set_hva(set, i);

    if (probe->order == 0)
        pagemap_mapping(zap->pagemap_fd, hva, &mapping);
    if (mapping.zero)
        return;

    unsigned order = mapping.huge ? huge_page_order() : probe->order;
    bool touched = page_is_gone((enum page_state)set->state[i]) || (order > 0 && zap->near[i]);

    set->state[i] = touched ? PAGE_TOUCHED : PAGE_UNMEASURABLE;
    page_set_note_unit(set, i, order, hva & ~((base_page_bytes() << order) - 1));
}

/* Small pages have become a huge one: a touch of any of them is a touch of the huge page, too. */
static void see_joined(struct page_set *set, uint64_t i, const struct page_probe *probe)
{
    if (set->state[i] == PAGE_TOUCHED)
        page_set_note_unit(set, i, probe->order, probe->unit_hva);
    else
        set->state[i] = PAGE_UNMEASURABLE;
}

static void see_page(void *context, uint64_t i, const struct page_probe *probe)
{
    struct zap *zap = context;
    struct page_set *set = zap->set;
    enum page_state state = (enum page_state)set->state[i];
    const struct page_probe piece = as_kvm_maps(zap, i, probe);

    if (probe->state != PAGE_IDLE)
        set->state[i] = (uint8_t)page_lost(state, probe->state);
    else if (page_is_missing(state))
        see_new(zap, i, probe);
    else if (piece.order > set->order[i])
        see_joined(set, i, &piece);
}

/* The mapping of each page costs a system call, so it is read only if khugepaged was at work. */
static int see_page_table(struct zap *zap)
{
    uint64_t collapses = collapses_read(zap->target->root);
    bool joined = collapses != zap->collapses;

    zap->collapses = collapses;
    return page_probe_each(zap->pagemap_fd, zap->set, page_any, joined, see_page, zap);
}

static int zap_collect(void *state, struct tally *tally, struct error *error)
{
    struct zap *zap = state;
    int rc = follow_vcpus(zap, error);

    if (rc < 0)
        return rc;
    zap_poll(zap, error); /* polls first, because a page that came by a fault is then known */
    rc = see_page_table(zap);
    zap_poll(zap, error);
    give_up_lost(zap);
    page_set_tally(zap->set, tally);
    if (zap->unseen)
        tally_doubt(tally, DOUBT_NEW_VCPU, HIDDEN_ANY);
    return rc < 0 ? error_set(error, rc, "/proc/%d/pagemap: %s", zap->target->process->pid,
                              strerror(-rc))
                  : 0;
}

/* --- opening ---------------------------------------------------------------------------------- */

static void zap_close(void *state)
{
    struct zap *zap = state;

    fault_trace_free(zap->trace);
    cleanup_close_at(&zap->pagemap_fd);
    cleanup_close_at(&zap->wake_fd);
    free(zap->to_drop);
    free(zap->near);
    free(zap);
}

/* A power of two: large for a census, but limited in sum with many vCPUs. */
static size_t ring_bytes(const struct target *target, const struct page_set *set)
{
    size_t bytes = set->flooded ? FLOODED_RING_BYTES : PANEL_RING_BYTES;

    if (page_set_is_census(set))
        bytes = CENSUS_RING_BYTES;
    while (bytes > PANEL_RING_BYTES && bytes * target->process->n_vcpus > ALL_RINGS_BYTES)
        bytes /= 2;
    return bytes;
}

static int open_wake_fd(struct zap *zap, struct error *error)
{
    zap->wake_fd = trace_wake_open();
    return zap->wake_fd < 0 ? error_set(error, zap->wake_fd, "zap: %s", strerror(-zap->wake_fd))
                            : 0;
}

static int zap_open(const struct target *target, struct page_set *set, void **state,
                    struct error *error)
{
    struct zap *zap = calloc(1, sizeof(*zap));
    char filter[FAULT_FILTER_BYTES];

    if (!zap)
        return error_set(error, -ENOMEM, "zap: out of memory");
    zap->target = target;
    zap->set = set;
    zap->pagemap_fd = zap->wake_fd = -1;
    zap->to_drop = calloc(set->n ? set->n : 1, sizeof(*zap->to_drop));

    zap->near = calloc(set->n ? set->n : 1, sizeof(*zap->near));

    int rc = zap->to_drop && zap->near ? 0 : error_set(error, -ENOMEM, "zap: out of memory");

    if (rc == 0)
        rc = zap->pagemap_fd = pagemap_open(target, error);
    if (rc >= 0)
        rc = open_wake_fd(zap, error);

    if (rc >= 0)
        rc = gpa_layout_deduce(target->root, target->process, target->ram, &zap->layout, error);
    if (rc == 0) {
        fault_filter(arch_host(), &zap->layout, filter, sizeof(filter));
        rc = fault_trace_open(target, filter, ring_bytes(target, set), zap->wake_fd, &zap->trace,
                              error);
    }
    if (rc < 0)
        zap_close(zap);
    else
        *state = zap;
    return rc;
}

/* --- requirements ----------------------------------------------------------------------------- */

static int check_kvm_module(const struct fsroot *root, struct error *why)
{
    for (const struct kvm_parameter *wanted = arch_host()->kvm_parameters; wanted->path; wanted++) {
        char text[8];

        if (fsroot_read(root, text, sizeof(text), "%s", wanted->path) > 0 &&
            (text[0] == 'N' || text[0] == '0'))
            return error_set(why, -ENOTSUP, "/%s is off: %s", wanted->path, wanted->remedy);
    }
    return 0;
}

static int zap_host(const struct fsroot *root, struct error *why)
{
    cleanup_close int fd = fsroot_openf(root, O_RDONLY, "proc/self/pagemap");
    int rc = pagemap_check_scan(fd, 0, why);

    if (rc == 0)
        rc = check_kvm_module(root, why);
    return rc < 0 ? rc : fault_trace_host(root, why);
}

static int zap_probe(const struct target *target, struct error *why)
{
    if (target->process->accel != ACCEL_KVM)
        return error_set(why, -ENOTSUP,
                         "has no effect on TCG guests: there is no KVM mapping to drop");

    int rc = check_kvm_module(target->root, why);

    if (rc < 0)
        return rc;

    cleanup_close int fd = pagemap_open(target, why);

    if (fd < 0)
        return fd;
    rc = pagemap_check_scan(fd, target->ram->blocks[0].hva, why);
    return rc < 0 ? rc : zap_sees_guest(target, why);
}

const struct method method_zap = {
    .name = "zap",
    .summary = "MMU invalidation page by page, KVM's faults seen through perf (KVM only)",
    .census = true,
    .panel = true,
    .needs_pages = true,
    .panel_by_default = true,
    .rank =
        {[ORDER_KVM] = 3, [ORDER_KVM_AGEING] = 1, [ORDER_DAEMON] = 3, [ORDER_DAEMON_AGEING] = 2},
    .verified_page_sizes = BASE_ALL,
    .host = zap_host,
    .probe = zap_probe,
    .open = zap_open,
    .mark = zap_mark,
    .wake = {.poll = zap_poll, .fd = zap_wake_fd},
    .collect = zap_collect,
    .rearm = zap_rearm,
    .close = zap_close,
};
