// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/witness.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compare.h"
#include "base/debug.h"
#include "base/random.h"
#include "guest/domain/qemu_io.h"
#include "guest/domain/qemu_vcpus.h"
#include "guest/ram/gpa.h"
#include "measure/kernel/fault_trace.h"
#include "measure/kernel/kpageflags.h"
#include "measure/kernel/kvm_stats.h"
#include "measure/kernel/pagemap.h"
#include "measure/kernel/trace_event.h"
#include "measure/method.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A ring holds some 15 faults per KiB. A guest also faults on memory that is new to it; if the ring
 * overflows, faults are lost. A lost fault leaves a touched page in count.others: where many are
 * lost, the witness cannot confirm the number, and the record says so. */
#define RING_BYTES (32UL << 10)

/* Maximum number of rings: each has a descriptor and memory that cannot be swapped; 256 take 8
 * MiB. */
#define RINGS_MAX 256

enum sight {
    NO_FAULT,
    FAULT,
    LATE_FAULT, /* a fault while the method was reading */
};

struct watched {
    uint64_t first, end; /* the unit that was dropped, in page numbers */
    size_t set;          /* the page: its set, and its index there */
    uint64_t i;
    uint8_t order; /* order of the page's mapping when it was dropped */
    uint8_t sight; /* enum sight */
    bool early;    /* touched after it was marked, but before it was dropped */
};

struct witness {
    const struct target *target;
    struct gpa_layout layout;
    struct fault_trace *trace;
    int pagemap_fd;
    int flags_fd; /* for kpageflags; negative: not available */
    int wake_fd;
    size_t rings;
    uint64_t lost;        /* lost records before this period */
    bool blind;           /* no result: a vCPU was added meanwhile, or dropping failed */
    bool stopped;         /* faults from now on happen while the method reads */
    bool proved;          /* a dropped page has faulted, or zap's own trial succeeded */
    bool refuted;         /* the trial failed */
    bool flags;           /* the method's marks are idle flags */
    bool gap_known;       /* it is known which touches were early */
    uint64_t drawn_bytes; /* the memory that the watched pages were drawn from */
    uint64_t marked_ns, dropped_ns;
    uint64_t vcpu_ns;  /* vCPU time when the period began ... */
    struct qemu_io io; /* ... and QEMU's I/O at that moment */
    uint64_t room;
    uint64_t n;
    struct watched *watched; /* ascending by first; those of one unit are neighbours */
};

static _Atomic size_t rings_in_use;
static _Atomic bool others_wait; /* another guest found no free rings */

bool witness_applies(const struct target *target, const struct method *method)
{
    return target->root->live && target->process && target->process->accel == ACCEL_KVM &&
           method->sees_qemu && method_host(&method_zap, target->root, NULL) == 0 &&
           !kvm_runs_nested(target);
}

/* --- life ------------------------------------------------------------------------------------- */

void witness_close(struct witness *witness)
{
    if (!witness)
        return;
    fault_trace_free(witness->trace);
    cleanup_close_at(&witness->pagemap_fd);
    cleanup_close_at(&witness->flags_fd);
    cleanup_close_at(&witness->wake_fd);
    rings_in_use -= witness->rings;
    free(witness->watched);
    free(witness);
}

static int open_trace(struct witness *witness, struct error *why)
{
    const struct target *target = witness->target;
    char filter[FAULT_FILTER_BYTES];
    int rc = gpa_layout_deduce(target->root, target->process, target->ram, &witness->layout, why);

    if (rc < 0)
        return rc;
    fault_filter(arch_host(), &witness->layout, filter, sizeof(filter));
    return fault_trace_open(target, filter, RING_BYTES, witness->wake_fd, &witness->trace, why);
}

int witness_open(const struct target *target, const struct method *method, uint64_t pages,
                 struct witness **out, struct error *why)
{
    struct witness *witness;
    int rc;

    if (rings_in_use + target->process->n_vcpus > RINGS_MAX) {
        others_wait = true;
        return error_set(why, -EBUSY, "witness: too many vCPUs are watched");
    }
    witness = calloc(1, sizeof(*witness));
    if (!witness)
        return error_set(why, -ENOMEM, "witness: out of memory");
    witness->target = target;
    witness->flags = method == &method_idle;
    witness->room = pages;
    witness->watched = calloc(pages, sizeof(*witness->watched));
    witness->rings = target->process->n_vcpus;
    rings_in_use += witness->rings;
    witness->pagemap_fd = pagemap_open(target, why);
    witness->flags_fd = kpageflags_open(target->root, NULL);
    witness->wake_fd = trace_wake_open();
    rc = witness->watched && witness->wake_fd >= 0 ? 0 : -ENOMEM;
    if (witness->pagemap_fd < 0)
        rc = witness->pagemap_fd;
    if (rc == 0)
        rc = open_trace(witness, why);
    if (rc < 0)
        witness_close(witness);
    else
        *out = witness;
    return rc;
}

int witness_wake_fd(const struct witness *witness)
{
    return witness->wake_fd;
}

bool witness_is_due_elsewhere(void)
{
    return atomic_exchange(&others_wait, false);
}

/* --- faults ----------------------------------------------------------------------------------- */

/* The index after the last watched page whose unit begins at or before @p page. */
static uint64_t upper_bound(const struct witness *witness, uint64_t page)
{
    uint64_t low = 0;
    uint64_t high = witness->n;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (witness->watched[middle].first <= page)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void see_fault(uint64_t gpa, void *context)
{
    struct witness *witness = context;
    uint64_t page = gpa_to_page(&witness->layout, witness->target->ram, gpa);
    uint64_t k = page == GPA_NONE ? 0 : upper_bound(witness, page);
    uint64_t first = k > 0 ? witness->watched[k - 1].first : 0;

    for (; k > 0 && witness->watched[k - 1].first == first; k--) {
        struct watched *watched = &witness->watched[k - 1];

        if (page >= watched->end || watched->sight != NO_FAULT)
            continue;
        watched->sight = witness->stopped ? LATE_FAULT : FAULT;
        witness->proved = true;
    }
}

void witness_poll(struct witness *witness)
{
    trace_wake_clear(witness->wake_fd);
    fault_trace_drain(witness->trace, see_fault, witness);
}

/* --- watching --------------------------------------------------------------------------------- */

/* The GPA of a DIMM is not known, so neither are its faults. */
static bool can_be_watched(const struct page_set *set, uint64_t i)
{
    return set->state[i] == PAGE_IDLE && !guest_ram_block(set->ram, page_set_page(set, i))->dimm;
}

static void watch(struct witness *witness, const struct page_set *set, size_t number, uint64_t i)
{
    const struct ram_block *block = guest_ram_block(set->ram, page_set_page(set, i));
    const uint64_t begin = larger(page_set_unit_hva(set, i), block->hva);
    const uint64_t end = smaller(page_set_unit_hva(set, i) + (base_page_bytes() << set->order[i]),
                                 block->hva + block->bytes);
    const uint64_t first = block->first_page + base_pages(begin - block->hva);

    witness->watched[witness->n++] = (struct watched){.first = first,
                                                      .end = first + base_pages(end - begin),
                                                      .set = number,
                                                      .i = i,
                                                      .order = set->order[i]};
}

static uint64_t count_candidates(const struct page_set *const *sets, size_t n_sets)
{
    uint64_t n = 0;

    for (size_t s = 0; s < n_sets; s++)
        for (uint64_t i = 0; i < sets[s]->n; i++)
            n += sets[s]->state[i] == PAGE_IDLE;
    return n;
}

/* Divides the pages into as many equal parts as can be watched, and draws one from each: evenly
 * spread, but random. */
static void draw(struct witness *witness, const struct page_set *const *sets, size_t n_sets)
{
    const uint64_t candidates = count_candidates(sets, n_sets);
    const uint64_t parts = smaller(candidates, witness->room);
    uint64_t seed = random_seed();
    uint64_t pages = 0;
    uint64_t part = 0;
    uint64_t seen = 0;
    uint64_t next = UINT64_MAX;

    for (size_t s = 0; s < n_sets; s++)
        pages += sets[s]->n;
    witness->drawn_bytes = (uint64_t)((double)candidates / (double)larger(pages, 1) *
                                      (double)witness->target->ram->bytes);
    witness->n = 0;
    for (size_t s = 0; s < n_sets; s++)
        for (uint64_t i = 0; i < sets[s]->n && part < parts; i++) {
            const uint64_t begin = part * candidates / parts;
            const uint64_t end = (part + 1) * candidates / parts;

            if (sets[s]->state[i] != PAGE_IDLE)
                continue;
            if (next == UINT64_MAX)
                next = begin + random_below(&seed, end - begin);
            if (seen == next && can_be_watched(sets[s], i))
                watch(witness, sets[s], s, i);
            if (++seen == end) {
                part++;
                next = UINT64_MAX;
            }
        }
}

COMPARE_BY(compare_watched, struct watched, first)

static int drop(struct witness *witness)
{
    const struct guest_ram *ram = witness->target->ram;
    int rc = 0;

    for (uint64_t k = 0; rc == 0 && k < witness->n; k++) {
        const struct watched *watched = &witness->watched[k];

        if (k == 0 || watched[-1].first != watched->first)
            rc = pagemap_invalidate(witness->pagemap_fd, guest_ram_hva(ram, watched->first),
                                    (watched->end - watched->first) * base_page_bytes());
    }
    return rc;
}

/* --- between marking and dropping ------------------------------------------------------------- */

/* The idle flag of a page's folio: 1 set, 0 clear, or a negative errno. */
static int reads_idle(const struct witness *witness, const struct watched *watched)
{
    struct folio folio;
    uint64_t entry, pfn;
    int rc = pagemap_read(witness->pagemap_fd, witness->target->ram, &watched->first, 1, &entry);

    if (rc < 0 || !(entry & PAGEMAP_PRESENT) || PAGEMAP_PFN(entry) == 0)
        return -ENODATA;
    pfn = PAGEMAP_PFN(entry);
    rc = kpageflags_read(witness->flags_fd, &pfn, 1, &folio.flags);
    if (rc == 0 && (folio.flags & KPF_COMPOUND_TAIL))
        rc = kpageflags_folio(witness->flags_fd, pfn, folio.flags, watched->order, &folio);
    return rc < 0 ? rc : !!(folio.flags & KPF_IDLE);
}

/* Up to Linux 6.12 KVM passes an accessed bit on when it drops a mapping, and that clears the idle
 * flag (mm/swap.c, folio_mark_accessed()): the page was touched after it was marked, and may not be
 * touched again. Since 6.13, and under MGLRU, neither shows such a touch, so they agree. A method
 * whose marks are not idle flags has nothing to do with those that an earlier one has left. A page
 * that QEMU does not map has no flag, and is mapped later. */
static void note_early(struct witness *witness)
{
    uint64_t idle = 0;
    uint64_t early = 0;

    for (uint64_t k = 0; witness->flags && k < witness->n; k++) {
        const int is_idle = reads_idle(witness, &witness->watched[k]);

        witness->watched[k].early = is_idle == 0;
        early += is_idle == 0;
        idle += is_idle == 1;
    }
    witness->gap_known = idle > early;
    for (uint64_t k = 0; k < witness->n && !witness->gap_known; k++)
        witness->watched[k].early = false;
}

void witness_watch(struct witness *witness, const struct page_set *const *sets, size_t n_sets,
                   uint64_t marked_ns)
{
    bool grown;

    draw(witness, sets, n_sets);
    qsort(witness->watched, witness->n, sizeof(*witness->watched), compare_watched);
    witness->stopped = false;
    witness->lost = fault_trace_lost(witness->trace);
    witness->marked_ns = marked_ns;
    witness->io = qemu_process_io(witness->target->root, witness->target->process);
    witness->vcpu_ns = qemu_process_vcpu_ns(witness->target->root, witness->target->process);

    int rc = fault_trace_follow(witness->trace, witness->target, &grown, NULL);

    if (rc == 0)
        rc = fault_trace_enable(witness->trace, true, NULL);
    if (rc == 0)
        rc = drop(witness);
    witness->blind = rc < 0;
    witness->dropped_ns = clock_ns();
    note_early(witness);
    debug_log("witness: watches %" PRIu64 " pages", witness->n);
}

/* --- comparing -------------------------------------------------------------------------------- */

void witness_stop(struct witness *witness)
{
    witness_poll(witness);
    witness->stopped = true;
}

/* Handles a page that has become part of a larger unit because a touch mapped that unit. */
static void compare_page(const struct watched *watched, const struct page_set *const *sets,
                         struct witness_count *count)
{
    const struct page_set *set = sets[watched->set];
    const enum page_state state = watched->i < set->n ? set->state[watched->i] : PAGE_ABSENT;

    if (watched->sight == LATE_FAULT || (state != PAGE_IDLE && state != PAGE_TOUCHED) ||
        set->order[watched->i] != watched->order)
        return;
    count->n++;
    count->both += state == PAGE_TOUCHED && watched->sight == FAULT;
    count->others += state == PAGE_TOUCHED && watched->sight == NO_FAULT && !watched->early;
    count->early += state == PAGE_TOUCHED && watched->sight == NO_FAULT && watched->early;
    count->missed += state == PAGE_IDLE && watched->sight == FAULT;
}

static bool is_blind(struct witness *witness)
{
    bool grown = false;

    witness->blind |= fault_trace_follow(witness->trace, witness->target, &grown, NULL) < 0 ||
                      grown || kvm_runs_nested(witness->target);
    return witness->blind;
}

/* Pages of one huge page are one observation. */
static void count_units(const struct witness *witness, struct witness_count *count)
{
    uint64_t units = 0;

    for (uint64_t k = 0; k < witness->n; k++)
        units += k == 0 || witness->watched[k - 1].first != witness->watched[k].first;

    const float share = witness->n > 0 ? (float)units / (float)witness->n : 1;

    count->n *= share;
    count->both *= share;
    count->others *= share;
    count->missed *= share;
    count->early *= share;
    count->unseen *= share;
}

/* The share of pages that devices may have touched meanwhile. If the pages are not known, counts
 * only touches between a page's marking and its dropping. */
static float noise(const struct witness *witness)
{
    const struct qemu_io now = qemu_process_io(witness->target->root, witness->target->process);
    const uint64_t device_bytes = qemu_io_device_bytes(&witness->io, &now);
    const uint64_t period_ns = clock_ns() - witness->marked_ns;
    const uint64_t gap_ns = witness->gap_known ? 0 : witness->dropped_ns - witness->marked_ns;

    return (float)gap_ns / (float)larger(period_ns, 1) +
           (float)device_bytes / (float)larger(witness->target->ram->bytes, 1);
}

/* If no dropped page has ever faulted, the guest may be asleep, or dropping may have no effect:
 * zap's own trial decides before another program is blamed. vCPUs that did not run at all touched
 * nothing. */
bool witness_can_be_believed(struct witness *witness)
{
    if (qemu_process_vcpu_ns(witness->target->root, witness->target->process) == witness->vcpu_ns)
        return true;
    if (!witness->proved && !witness->refuted) {
        witness->proved = method_zap.probe(witness->target, NULL) == 0;
        witness->refuted = !witness->proved;
    }
    return witness->proved;
}

void witness_compare(struct witness *witness, const struct page_set *const *sets,
                     struct witness_count *count)
{
    *count = (struct witness_count){0};
    witness_poll(witness);
    if (is_blind(witness))
        return;

    const uint64_t lost = fault_trace_lost(witness->trace) - witness->lost;

    for (uint64_t k = 0; k < witness->n; k++)
        compare_page(&witness->watched[k], sets, count);
    for (uint64_t k = 0; k < witness->n; k++)
        if (witness->watched[k].sight == LATE_FAULT)
            witness->watched[k].sight = FAULT;
    if (lost > 0)
        count->unseen = count->n - count->both - count->others - count->early - count->missed;
    count_units(witness, count);
    count->watched_bytes = witness->drawn_bytes;
    count->noise = noise(witness);
    if (count->others > 0 && !witness_can_be_believed(witness))
        *count = (struct witness_count){0};
    witness->stopped = false;
    debug_log("witness: of %.0f pages both %.0f, others %.0f, missed %.0f, noise %.4f; %" PRIu64
              " faults were lost",
              count->n, count->both, count->others, count->missed, count->noise, lost);
}
