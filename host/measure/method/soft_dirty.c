// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file soft_dirty.c  Method `soft-dirty`: which pages were written, by the soft-dirty bit. It sees
 * writes only, so it serves the write working set and never the working set.
 *
 * Theory of operation: writing 4 to clear_refs write-protects every page table entry of QEMU and
 * clears its soft-dirty bit; the MMU notifier makes KVM drop all of its mappings. The first write
 * to a page then faults in QEMU's page table, also if KVM asks for the page, and that fault sets
 * the bit (mm/memory.c, wp_page_reuse() by pte_mkdirty()). KVM maps a page that was only read
 * without the right to write, because the host's entry has none. pagemap shows the bit, and reading
 * it changes nothing: one marking serves any number of windows.
 *
 * What it sees: writes by vCPUs, by QEMU itself and by vhost in the kernel, all through QEMU's page
 * table. What it does not see: DMA by assigned devices (VFIO pins its pages, and the kernel does
 * not clear the bit of a pinned anonymous page: those that have the bit right after the marking are
 * unmeasurable then), and vhost-user, whose processes have mappings of their own. hugetlb pages
 * keep the bit (clear_refs does not walk them): unmeasurable.
 *
 * The bit goes with a page into swap and through the migration of its frame, and a huge page passes
 * it to its parts. A page that is written and then swapped out counts as written. The bit is lost
 * - if another process writes 4 to clear_refs (CRIU, or a method of ours; the lock keeps ours away)
 * - if a page of a file or of shared memory is unmapped (reclaim, MADV_PAGEOUT)
 * - if KSM merges the page.
 * So pages are read between the windows, too: 20 ms after the marking, then at double the time,
 * each second at last. A page that had the bit stays written. If it is mapped without the bit later
 * on, bits were taken, and any page may have been written: flag, and the upper bound is all that is
 * resident. A guest whose written pages are all written again after the loss does not show it; then
 * the number is right for it, except for pages that were first written between the last reading and
 * the loss. Pages of shared memory that were unmapped and are still in memory are in the upper
 * bound; if it is not known whether pages were discarded (files on disk), bits were taken.
 *
 * The bit is set although no write happened: if khugepaged joins pages (pmd_mkdirty()), so a huge
 * page that was joined within the window is unmeasurable, but for its parts that were seen written
 * before; and for all pages that one fault of a large folio brings, so their lower bound is that of
 * a huge page. A huge page is one unit.
 *
 * Its cost: QEMU's mmap lock for writing while all page tables are walked, in which KVM's faults
 * wait; then one fault for each page that is touched, and another for each that is written first.
 * It loses soft-dirty bits that another process (CRIU) may be collecting. It has nothing to
 * restore: pages become writable again with the next write, also after kill -9. Shared mappings
 * keep one trace: a page that is mapped by a read takes a second fault when it is written.
 */
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "guest/domain/qemu_vcpus.h"
#include "measure/kernel/clear_refs.h"
#include "measure/kernel/collapses.h"
#include "measure/kernel/ksm.h"
#include "measure/kernel/large_folios.h"
#include "measure/kernel/pagemap.h"
#include "measure/kernel/pagemap_runs.h"
#include "measure/method.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define FIRST_NS 20000000ULL
#define LONGEST_NS 1000000000ULL
/* A reading may take this share of the time. */
#define READING_SHARE 20

struct soft_dirty {
    const struct target *target;
    struct page_set *set;
    int pagemap_fd;
    int timer_fd;
    uint64_t pause_ns;       /* between the last reading and the next */
    uint64_t collapses;      /* khugepaged's counter before the marking */
    uint64_t merged;         /* pages that KSM had merged by then ... */
    uint64_t copied;         /* ... and those that were copied because they were written */
    uint64_t unmapped_bytes; /* resident and not mapped by then */
    bool large_folios;       /* a fault may bring more pages than one */
    bool pinned;             /* pages may be pinned, and keep the bit */
    bool joined;             /* this reading: pages were joined since the marking */
    uint64_t vanished;       /* this reading: pages whose bit was there before */
    uint64_t left;           /* pages of shared memory that were unmapped since the marking ... */
    uint64_t came;           /* ... and that appeared */
    bool taken;              /* bits were lost since the marking */
};

/* --- reading ---------------------------------------------------------------------------------- */

/* Handles a page that has the bit. A page that was written stays at the granularity at which that
 * was seen: a huge page that is split then passes the bit to its parts. */
static void see_written(struct soft_dirty *sd, uint64_t i, unsigned order)
{
    struct page_set *set = sd->set;
    const enum page_state was = (enum page_state)set->state[i];

    if (was == PAGE_TOUCHED || was == PAGE_UNMEASURABLE)
        return;
    if (order > set->order[i] && (was == PAGE_IDLE || sd->joined)) {
        set->state[i] = PAGE_UNMEASURABLE;
    } else {
        set->state[i] = PAGE_TOUCHED;
        if (page_is_missing(was) && sd->large_folios)
            order = huge_page_order();
    }
    if (order > set->order[i])
        set->order[i] = (uint8_t)order;
}

/* A page that was written, left, and came back was written, too. */
static void see_clean(struct soft_dirty *sd, uint64_t i, enum page_state now)
{
    uint8_t *state = &sd->set->state[i];

    if (*state == PAGE_TOUCHED)
        sd->vanished++;
    else if (page_is_gone((enum page_state)(*state)))
        *state = PAGE_TOUCHED;
    else if (*state != PAGE_UNMEASURABLE)
        *state = (uint8_t)now;
}

/* Whether a page of a file was discarded is known only if the file's size in memory is known. */
static void see_absent(struct soft_dirty *sd, uint64_t i, const struct ram_block *block)
{
    uint8_t *state = &sd->set->state[i];

    if (block->shared && (*state == PAGE_IDLE || *state == PAGE_TOUCHED)) {
        sd->left++;
        sd->taken |= !block->whole_file;
    }
    *state = (uint8_t)page_lost((enum page_state) * state, PAGE_ABSENT);
}

struct reading {
    struct soft_dirty *sd;
    const struct ram_block *block;
    bool first; /* before the marking: the bits have no meaning yet */
};

static unsigned run_order(const struct ram_block *block, const struct page_run *run)
{
    if (block->page_bytes > base_page_bytes())
        return (unsigned)__builtin_ctzll(base_pages(block->page_bytes));
    if (run->scanned ? run->traits & RUN_HUGE : block->huge_bytes > 0)
        return huge_page_order();
    return 0;
}

static enum page_state run_state(const struct page_run *run)
{
    if ((run->traits & RUN_PRESENT) && !(run->traits & RUN_ZERO))
        return PAGE_IDLE;
    return run->traits & RUN_SWAPPED ? PAGE_SWAPPED : PAGE_ABSENT;
}

static void see_first(struct reading *reading, const struct page_run *run, uint64_t first)
{
    struct page_set *set = reading->sd->set;
    const bool fixed = reading->block->backing == RAM_BACKING_HUGETLB;
    enum page_state state = run_state(run);

    if (state == PAGE_IDLE && fixed)
        state = PAGE_UNMEASURABLE;
    memset(set->state + first, (int)state, run->pages);
    memset(set->order + first, state == PAGE_ABSENT ? 0 : (int)run_order(reading->block, run),
           run->pages);
}

static void see_run(void *context, const struct page_run *run)
{
    struct reading *reading = context;
    struct soft_dirty *sd = reading->sd;
    const struct ram_block *block = reading->block;
    const uint64_t first = block->first_page + base_pages(run->hva - block->hva);
    const enum page_state state = run_state(run);
    const bool written = state != PAGE_ABSENT && (run->traits & RUN_SOFT_DIRTY);
    const unsigned order = run_order(block, run);

    if (reading->first) {
        see_first(reading, run, first);
        return;
    }
    for (uint64_t i = first; i < first + run->pages; i++) {
        if (block->shared && state != PAGE_ABSENT && page_is_missing(sd->set->state[i]))
            sd->came++;
        if (written)
            see_written(sd, i, order);
        else if (state == PAGE_ABSENT)
            see_absent(sd, i, block);
        else
            see_clean(sd, i, state);
    }
}

static int read_blocks(struct soft_dirty *sd, bool first)
{
    const struct guest_ram *ram = sd->target->ram;
    int rc = 0;

    for (size_t b = 0; rc == 0 && b < ram->n_blocks; b++) {
        struct reading reading = {.sd = sd, .block = &ram->blocks[b], .first = first};

        rc = pagemap_runs(sd->pagemap_fd, reading.block->hva,
                          reading.block->hva + reading.block->bytes, see_run, &reading);
    }
    return rc;
}

/* Resident bytes that QEMU does not map, and the possible error of that number. */
static uint64_t unmapped_now(const struct soft_dirty *sd, uint64_t *error_bytes)
{
    struct resident_now now = {0};

    *error_bytes = 0;
    if (target_read_resident(sd->target, &now, false, NULL) < 0)
        return 0;
    *error_bytes = now.mapped_error_bytes + now.resident_error_bytes;
    return less(now.resident_bytes, now.mapped_bytes);
}

/* Looks whether pages that left are still in memory: unmapped, not discarded. Pages that appeared
 * may have been unmapped before, which hides as many. */
static void judge_left(struct soft_dirty *sd)
{
    uint64_t error_bytes;
    const uint64_t bytes = unmapped_now(sd, &error_bytes);
    const uint64_t came_bytes = smaller(sd->came * base_page_bytes(), sd->unmapped_bytes);

    sd->taken |= bytes + came_bytes > sd->unmapped_bytes + error_bytes;
}

/* A merged page that is written is one less, and hides one that was merged meanwhile. */
static uint64_t merged_since(const struct soft_dirty *sd)
{
    return less(ksm_merged_pages(sd->target) + ksm_copied_pages(sd->target),
                sd->merged + sd->copied);
}

static int read_bits(struct soft_dirty *sd, struct error *error)
{
    const uint64_t left = sd->left;

    sd->joined = collapses_read(sd->target->root) != sd->collapses;
    sd->vanished = 0;

    int rc = read_blocks(sd, false);

    if (rc < 0)
        return error_set(error, rc, "/proc/%d/pagemap: %s", sd->target->process->pid,
                         strerror(-rc));
    if (sd->left > left)
        judge_left(sd);
    sd->taken |= sd->vanished > 0 && sd->vanished > merged_since(sd);
    return 0;
}

/* --- the window ------------------------------------------------------------------------------- */

static int set_timer(struct soft_dirty *sd, uint64_t ns)
{
    const struct itimerspec once = {.it_value = timespec_of_ns(ns)};

    sd->pause_ns = ns;
    return timerfd_settime(sd->timer_fd, 0, &once, NULL) < 0 ? -errno : 0;
}

static void pin_written(struct page_set *set)
{
    for (uint64_t i = 0; i < set->n; i++)
        if (set->state[i] == PAGE_TOUCHED)
            set->state[i] = PAGE_UNMEASURABLE;
}

static int soft_dirty_mark(void *state, struct error *error)
{
    struct soft_dirty *sd = state;
    uint64_t error_bytes;

    sd->collapses = collapses_read(sd->target->root);
    sd->merged = ksm_merged_pages(sd->target);
    sd->copied = ksm_copied_pages(sd->target);
    sd->unmapped_bytes = unmapped_now(sd, &error_bytes);
    sd->left = sd->came = 0;
    sd->taken = false;

    int rc = clear_refs(sd->target, CLEAR_REFS_SOFT_DIRTY, error);

    if (rc == 0 && sd->pinned) {
        rc = read_bits(sd, error);
        pin_written(sd->set);
    }
    return rc < 0 ? rc : set_timer(sd, FIRST_NS);
}

static enum page_state anew(enum page_state state, const struct ram_block *block)
{
    if (page_is_missing(state))
        return page_is_swapped(state) ? PAGE_SWAPPED : PAGE_ABSENT;
    return block->backing == RAM_BACKING_HUGETLB ? state : PAGE_IDLE;
}

/* The last reading stands for the state of each page: another one would take time before the
 * marking. A page that was ever written as a part of a huge page keeps that granularity. */
static int soft_dirty_rearm(void *state, struct error *error)
{
    struct soft_dirty *sd = state;
    const struct guest_ram *ram = sd->target->ram;
    uint8_t *page = sd->set->state;

    for (size_t b = 0; b < ram->n_blocks; b++)
        for (uint64_t n = base_pages(ram->blocks[b].bytes); n > 0; n--, page++)
            *page = (uint8_t)anew((enum page_state) * page, &ram->blocks[b]);
    return soft_dirty_mark(state, error);
}

static int soft_dirty_poll(void *state, struct error *error)
{
    struct soft_dirty *sd = state;
    const uint64_t begun_ns = clock_ns();
    uint64_t expired;
    uint64_t pause_ns;

    if (read(sd->timer_fd, &expired, sizeof(expired)) < 0)
        return 0;

    int rc = read_bits(sd, error);

    pause_ns = smaller(2 * sd->pause_ns, LONGEST_NS);
    return rc < 0 ? rc : set_timer(sd, larger(pause_ns, READING_SHARE * (clock_ns() - begun_ns)));
}

static int soft_dirty_wake_fd(void *state)
{
    const struct soft_dirty *sd = state;

    return sd->timer_fd;
}

static int soft_dirty_collect(void *state, struct tally *tally, struct error *error)
{
    struct soft_dirty *sd = state;
    uint64_t error_bytes;
    int rc = read_bits(sd, error);

    if (rc < 0)
        return rc;
    page_set_tally(sd->set, tally);
    tally->missed_bytes += merged_since(sd) * base_page_bytes();
    if (sd->left > 0) {
        const uint64_t bytes = unmapped_now(sd, &error_bytes);

        tally->missed_bytes += smaller(sd->left * base_page_bytes(), bytes + error_bytes);
    }
    if (sd->taken)
        tally_doubt(tally, DOUBT_BITS_TAKEN, HIDDEN_ANY);
    return 0;
}

/* --- opening ---------------------------------------------------------------------------------- */

static void soft_dirty_close(void *state)
{
    struct soft_dirty *sd = state;

    cleanup_close_at(&sd->pagemap_fd);
    cleanup_close_at(&sd->timer_fd);
    free(sd);
}

static int open_files(struct soft_dirty *sd, struct error *error)
{
    int rc;

    sd->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (sd->timer_fd < 0)
        return error_set(error, -errno, "soft-dirty: timer: %s", strerror(errno));
    rc = sd->pagemap_fd = pagemap_open(sd->target, error);
    return rc < 0 ? rc : 0;
}

/* The state before the marking is read here: in the time of marking it would count as a part of
 * the window. */
static int soft_dirty_open(const struct target *target, struct page_set *set, void **state,
                           struct error *error)
{
    struct soft_dirty *sd = calloc(1, sizeof(*sd));

    if (!sd)
        return error_set(error, -ENOMEM, "soft-dirty: out of memory");
    *sd = (struct soft_dirty){.target = target, .set = set, .pagemap_fd = -1, .timer_fd = -1};
    sd->large_folios = large_folios_exist(target->root);
    sd->pinned = qemu_process_has_vfio(target->root, target->process);

    int rc = open_files(sd, error);

    if (rc == 0) {
        rc = read_blocks(sd, true);
        if (rc < 0)
            error_set(error, rc, "/proc/%d/pagemap: %s", target->process->pid, strerror(-rc));
    }
    if (rc < 0)
        soft_dirty_close(sd);
    else
        *state = sd;
    return rc;
}

/* --- requirements ----------------------------------------------------------------------------- */

/* A new mapping has the bit, if the kernel has it at all. */
static bool kernel_has_bit(const struct fsroot *root)
{
    cleanup_close int fd = fsroot_openf(root, O_RDONLY, "proc/self/pagemap");
    uint64_t entry = 0;
    volatile char *page = mmap(NULL, base_page_bytes(), PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED)
        return false;
    *page = 1;
    if (fd >= 0 && pread(fd, &entry, sizeof(entry),
                         (off_t)(base_pages((uint64_t)(uintptr_t)page) * sizeof(entry))) < 0)
        entry = 0;
    munmap((void *)page, base_page_bytes());
    return entry & PAGEMAP_SOFT_DIRTY;
}

static int soft_dirty_host(const struct fsroot *root, struct error *why)
{
    if (!fsroot_exists(root, "proc/self/clear_refs"))
        return error_set(why, -ENOENT,
                         "/proc/PID/clear_refs is missing: the kernel needs "
                         "CONFIG_PROC_PAGE_MONITOR=y");
    if (root->live && !kernel_has_bit(root))
        return error_set(why, -ENOTSUP,
                         "the kernel has no soft-dirty bit; it needs CONFIG_MEM_SOFT_DIRTY=y "
                         "(Debian and Ubuntu on x86 have it)");
    return 0;
}

/* The measurement itself proves that KVM was notified (measure/run.c, note_blind()): a trial would
 * cost the guest as much as a measurement. */
static int soft_dirty_probe(const struct target *target, struct error *why)
{
    const struct guest_ram *ram = target->ram;
    bool measurable = false;

    for (size_t b = 0; b < ram->n_blocks; b++)
        measurable |= ram->blocks[b].backing != RAM_BACKING_HUGETLB;
    if (!measurable)
        return error_set(why, -ENOTSUP,
                         "the kernel does not clear the soft-dirty bit of hugetlb pages, and this "
                         "guest's RAM is all hugetlb");
    return soft_dirty_host(target->root, why);
}

const struct method method_soft_dirty = {
    .name = "soft-dirty",
    .summary = "writes, by the soft-dirty bits of QEMU's page tables (--writes only)",
    .signal = SIGNAL_WRITES,
    .census = true,
    .needs_pages = true,
    .rank = {[ORDER_WRITES] = 1},
    .host = soft_dirty_host,
    .probe = soft_dirty_probe,
    .open = soft_dirty_open,
    .mark = soft_dirty_mark,
    .wake = {.poll = soft_dirty_poll, .fd = soft_dirty_wake_fd},
    .collect = soft_dirty_collect,
    .rearm = soft_dirty_rearm,
    .close = soft_dirty_close,
};
