// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file pageout.c  Method `pageout`: MMU invalidation by process_madvise(MADV_PAGEOUT). KVM and
 * TCG.
 *
 * Theory of operation. Guest RAM that is a memfd or a tmpfs file lives in the page cache. If there
 * is no swap to put it into, MADV_PAGEOUT unmaps a page from QEMU's page table, and KVM's through
 * the MMU notifier, and then finds nowhere to write it: the data stays where it is. If the page is
 * mapped again later, the guest (or QEMU for it) touched it.
 *
 * These conditions are checked; without them this would be a real eviction:
 *   - shared memory on shmem; private RAM would have to be swapped, a disk file would be written;
 *   - no active swap;
 *   - no huge pages in the file: advice for a part of one splits it.
 * The kernel reports success for skipped pages, too. A page that is mapped after the call was
 * either skipped (another process maps it too, or it is on no LRU list: unmeasurable) or touched
 * since, as hot pages are within microseconds; /proc/kpagecount and kpageflags tell which. It is
 * not advised again: that would undo the touch, and begin its window anew at the end of the
 * marking, which may take seconds. A guest that was suspended at that moment read 0.00 instead of
 * 8.02 MiB.
 *
 * A page of the file that was read but never written (QEMU's dump reads every hole) is clean: the
 * kernel drops it instead, and the next access makes it anew, again with zeros. So such pages leave
 * a panel, but not the rest of RAM: the panel's share of present pages then contradicts the size of
 * the file, and the estimate is flagged unsettled (measure/estimate/wss.h).
 *
 * Before Linux 6.9 the call honours KVM's accessed bits: a page with its bit set keeps its mapping
 * and only loses the bit. Therefore pages that are still mapped are advised once more there. Then
 * the page is unmapped, or it was touched between the two calls, which counts as a touch. The bits
 * of QEMU's own page table do not keep a page mapped: the call takes them before it checks
 * (mm/madvise.c). So a TCG guest's pages are unmapped by the first call on every kernel, and get no
 * second one.
 *
 * A read fault maps up to 16 neighbours as well (fault_around_bytes), so the panel has at most one
 * page in an aligned 64 KiB, and the others there are mapped first if they are not mapped: in a
 * guest whose file was full and not mapped (a template, a live update, an MADV_PAGEOUT by others)
 * 252 instead of 16.0 MiB read touched. A page that is already unmapped when the window begins is
 * resident and idle: the file shows it, the pagemap does not.
 *
 * To restore, pages still unmapped at the end are mapped again by reading one byte of each through
 * process_vm_readv(2). After kill -9 they are mapped again by the guest's next access, at the price
 * of a minor fault each.
 */
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/page_sizes.h"
#include "guest/domain/qemu_vcpus.h"
#include "measure/kernel/advise.h"
#include "measure/kernel/backing_file.h"
#include "measure/kernel/kpage_shared.h"
#include "measure/kernel/kpageflags.h"
#include "measure/kernel/pagemap.h"
#include "measure/kernel/swaps.h"
#include "measure/kernel/touch_pages.h"
#include "measure/kernel/u64_file.h"
#include "measure/method.h"
#include "measure/method/pageout_calls.h"
#include "measure/method/sentinels.h"
#include "measure/page_merge.h"

#include <errno.h>
#include <string.h>

/* With 64 ranges, a share of 7 % of RAM shows in at least one of them 99 times in 100. */
#define NEIGHBOURS_LOOKED 64

struct pageout {
    const struct target *target;
    struct page_set *set;
    int calls; /* number of calls that unmap a touched page, see calls_for() */
    int pagemap_fd;
    int flags_fd;
    int count_fd;      /* /proc/kpagecount: number of mappings of each frame */
    int *file_fds;     /* one for each RAM block */
    bool *advised;     /* pages that the marking under way covers */
    uint64_t *entry;   /* pagemap entries of the set */
    struct qemu_io io; /* QEMU's I/O when the page set was last marked */
    /* another process unmaps pages, so the next marking covers all pages, and their neighbours */
    bool others_unmap;
    uint16_t *neighbours; /* for each page, the mapped pages of its aligned range, one bit each */
    struct sentinels sentinels; /* for a TCG guest */
    bool *was_unmapped;         /* at mark the page was in the file, and already unmapped */
    bool *was_read;             /* read by others, since it was marked */
};

/* --- marking ---------------------------------------------------------------------------------- */

static int check_swap(const struct fsroot *root, struct error *why)
{
    int active = swap_is_active(root);

    if (active < 0)
        return error_set(why, active, "/proc/swaps: %s", strerror(-active));
    if (active)
        return error_set(why, -ENOTSUP,
                         "swap is active: MADV_PAGEOUT would really swap guest pages out");
    return 0;
}

/* Sets of one target that are marked at once, through the descriptors of the first set. */
struct marking {
    void *const *states;
    const struct page_merge *merge;
};

typedef bool (*page_test)(const struct pageout *pageout, uint64_t i);

static struct pageout *state_at(const struct marking *marking, struct page_place place)
{
    return marking->states[place.set];
}

static bool is_wanted(const struct marking *marking, uint64_t k, page_test wanted)
{
    const struct page_place place = marking->merge->place[k];

    return wanted(state_at(marking, place), place.i);
}

/* Reads the pagemap entries of the pages that are @p wanted. A page of a panel takes a system call
 * of its own if the next page is far; pages of several sets are nearer to each other. */
static int read_entries(const struct marking *marking, page_test wanted)
{
    const struct page_merge *merge = marking->merge;
    const struct pageout *first = marking->states[0];
    cleanup_free uint64_t *page = calloc(merge->n + 1, sizeof(*page));
    cleanup_free uint64_t *entry = malloc((merge->n + 1) * sizeof(*entry));
    cleanup_free uint64_t *at = malloc((merge->n + 1) * sizeof(*at));
    uint64_t n = 0;

    if (!page || !entry || !at)
        return -ENOMEM;
    for (uint64_t k = 0; k < merge->n; k++)
        if (is_wanted(marking, k, wanted)) {
            page[n] = merge->page[k];
            at[n++] = k;
        }

    int rc = pagemap_read(first->pagemap_fd, first->target->ram, page, n, entry);

    for (uint64_t k = 0; rc == 0 && k < n; k++) {
        const struct page_place place = merge->place[at[k]];

        state_at(marking, place)->entry[place.i] = entry[k];
    }
    return rc;
}

static bool is_advised(const struct pageout *pageout, uint64_t i)
{
    return pageout->advised[i];
}

static bool is_idle_advised(const struct pageout *pageout, uint64_t i)
{
    return pageout->advised[i] && pageout->set->state[i] == PAGE_IDLE;
}

/* A fixed pseudo-random rank of a page (the finaliser of SplitMix64). */
static uint64_t page_rank(uint64_t page)
{
    page = (page ^ (page >> 30)) * 0xbf58476d1ce4e5b9ULL;
    page = (page ^ (page >> 27)) * 0x94d049bb133111ebULL;
    return page ^ (page >> 31);
}

/* Keeps one page of each aligned 64 KiB: the drawn page with the highest rank. The first page would
 * prefer pages at the begin of the 64 KiB and see a hot set with such a stride too large. */
static void thin_out(struct page_set *set)
{
    uint64_t kept = 0;

    for (uint64_t i = 0; i < set->n; i++) {
        uint64_t window = page_set_hva(set, i) / FAULT_AROUND_BYTES;

        if (kept == 0 || page_set_hva(set, kept - 1) / FAULT_AROUND_BYTES != window)
            set->page[kept++] = set->page[i];
        else if (page_rank(set->page[i]) > page_rank(set->page[kept - 1]))
            set->page[kept - 1] = set->page[i];
    }
    page_set_keep(set, kept);
}

/* One walk for all cohorts, through the descriptors of one of them. */
struct ram_walk {
    const struct pageout *by;
    struct file_walk file;
};

static bool in_file(struct ram_walk *walk, uint64_t page)
{
    const struct guest_ram *ram = walk->by->target->ram;
    const struct ram_block *block = guest_ram_block(ram, page);
    const uint64_t offset = block->file_offset + (page - block->first_page) * base_page_bytes();

    return file_walk_holds(&walk->file, walk->by->file_fds[block - ram->blocks], offset);
}

static bool is_large(const struct pageout *pageout, uint64_t pfn)
{
    uint64_t flags;

    return kpageflags_read(pageout->flags_fd, &pfn, 1, &flags) == 0 &&
           (flags & (KPF_COMPOUND_HEAD | KPF_COMPOUND_TAIL));
}

static void note_page(struct pageout *pageout, uint64_t i, struct ram_walk *walk)
{
    struct page_set *set = pageout->set;
    bool mapped = pageout->entry[i] & PAGEMAP_PRESENT;
    bool held = mapped || in_file(walk, page_set_page(set, i));

    page_set_note_unit(set, i, 0, page_set_hva(set, i));
    if (set->state[i] != PAGE_IDLE) /* else the page was unmapped by this process */
        pageout->was_unmapped[i] = !mapped && held;
    set->state[i] = held ? PAGE_IDLE : PAGE_ABSENT;
}

/* Advice for one page of a large folio splits it, also if the folio is not mapped by a PMD. */
static void leave_out_large(struct pageout *pageout, uint64_t i)
{
    if ((pageout->entry[i] & PAGEMAP_PRESENT) && is_large(pageout, PAGEMAP_PFN(pageout->entry[i])))
        pageout->set->state[i] = PAGE_UNMEASURABLE;
}

/* Advises the pages for which @p wanted returns true. */
static int advise_pages(const struct marking *marking, page_test wanted)
{
    const struct page_merge *merge = marking->merge;
    const struct pageout *first = marking->states[0];
    cleanup_free struct iovec *range = calloc(merge->n + 1, sizeof(*range));
    uint64_t n = 0;

    if (!range)
        return -ENOMEM;
    for (uint64_t k = 0; k < merge->n; k++)
        if (is_wanted(marking, k, wanted))
            range[n++] = (struct iovec){
                .iov_base = (void *)(uintptr_t)guest_ram_hva(first->target->ram, merge->page[k]),
                .iov_len = base_page_bytes()};
    return process_advise(first->target->process->pidfd, ADVISE_PAGEOUT, range, n);
}

static bool is_mapped(const struct pageout *pageout, uint64_t i)
{
    return pageout->advised[i] && pageout->set->state[i] == PAGE_IDLE &&
           (pageout->entry[i] & PAGEMAP_PRESENT);
}

/* Returns true if the kernel would have unmapped this frame. mm/madvise.c skips pages that are
 * mapped more than once, and pages that it cannot isolate from an LRU list. */
static bool can_be_unmapped(const struct pageout *pageout, uint64_t pfn)
{
    uint64_t flags;
    uint64_t count;

    return kpageflags_read(pageout->flags_fd, &pfn, 1, &flags) == 0 && (flags & KPF_LRU) &&
           u64_file_gather(pageout->count_fd, &pfn, 1, 0, &count) == 0 && count == 1;
}

/* Returns true if the page is still mapped, though the kernel would have unmapped it. */
static bool stayed_mapped(const struct pageout *pageout, uint64_t i)
{
    return is_mapped(pageout, i) && can_be_unmapped(pageout, PAGEMAP_PFN(pageout->entry[i]));
}

static int unmap_pages(const struct marking *marking)
{
    const struct pageout *first = marking->states[0];
    int rc = advise_pages(marking, is_mapped);

    if (rc == 0)
        rc = read_entries(marking, is_mapped);
    if (rc < 0 || first->calls == 1)
        return rc;
    rc = advise_pages(marking, stayed_mapped);
    return rc == 0 ? read_entries(marking, is_mapped) : rc;
}

/* The aligned range of pages that a fault at one of them maps. */
struct around {
    uint64_t first, n;
    uint64_t entry[FAULT_AROUND_BYTES / BASE_4K];
};

static int read_around(const struct pageout *by, uint64_t page, struct around *around)
{
    const struct ram_block *block = guest_ram_block(by->target->ram, page);
    const uint64_t pages = larger(FAULT_AROUND_BYTES / base_page_bytes(), 1);
    const uint64_t number = base_pages(block->hva) + page - block->first_page;

    around->first = page - smaller(number % pages, page - block->first_page);
    around->n = smaller(page - number % pages + pages,
                        block->first_page + base_pages(block->bytes)) -
                around->first;
    return pagemap_read_range(by->pagemap_fd, by->target->ram, around->first, around->n,
                              around->entry);
}

static bool is_unmapped(uint64_t entry)
{
    return !(entry & PAGEMAP_PRESENT) && !PAGEMAP_IN_MOTION(entry);
}

/* The neighbours of some pages are checked, the same pages each time. */
static bool is_looked_at(const struct pageout *pageout, uint64_t i)
{
    return page_rank(page_set_page(pageout->set, i)) % pageout->set->n < NEIGHBOURS_LOOKED;
}

/* The mapped pages of the range, one bit each. */
static uint16_t mapped_of(const struct around *around)
{
    uint16_t mapped = 0;

    for (uint64_t k = 0; k < around->n; k++)
        if (!is_unmapped(around->entry[k]))
            mapped |= (uint16_t)(1U << k);
    return mapped;
}

/* Finds a page of the file in the range of page @p page that is not mapped; UINT64_MAX: every page
 * is mapped. */
static uint64_t find_unmapped(struct ram_walk *walk, uint64_t page)
{
    struct around around;

    if (read_around(walk->by, page, &around) < 0)
        return UINT64_MAX;
    for (uint64_t k = 0; k < around.n; k++)
        if (is_unmapped(around.entry[k]) && in_file(walk, around.first + k))
            return around.first + k;
    return UINT64_MAX;
}

/* Notes the mapped pages around each page. */
static void note_neighbours(const struct marking *marking)
{
    for (uint64_t k = 0; k < marking->merge->n; k++) {
        const struct page_place place = marking->merge->place[k];
        struct pageout *pageout = state_at(marking, place);
        struct around around;

        if (is_looked_at(pageout, place.i) && is_wanted(marking, k, is_idle_advised) &&
            read_around(pageout, marking->merge->page[k], &around) == 0)
            pageout->neighbours[place.i] = mapped_of(&around);
    }
}

/* Maps the pages around the panel's pages, so that no fault at a neighbour maps one of the panel's:
 * a read of an unmapped page maps the aligned range. They stay mapped. Returns the number of reads
 * that this took, or a negative errno. */
static int64_t map_around(const struct marking *marking)
{
    const struct pageout *first = marking->states[0];
    struct ram_walk walk = {.by = first};
    cleanup_free struct iovec *there = calloc(marking->merge->n + 1, sizeof(*there));
    uint64_t n = 0;

    if (!there)
        return -ENOMEM;
    for (uint64_t k = 0; first->target->root->live && k < marking->merge->n; k++) {
        uint64_t page = is_wanted(marking, k, is_idle_advised)
                            ? find_unmapped(&walk, marking->merge->page[k])
                            : UINT64_MAX;

        if (page != UINT64_MAX)
            there[n++] = (struct iovec){
                .iov_base = (void *)(uintptr_t)guest_ram_hva(first->target->ram, page),
                .iov_len = 1};
    }
    for (uint64_t k = 0; k < n; k += TOUCH_AT_ONCE)
        touch_pages(first->target->process->pid, there + k, smaller(n - k, TOUCH_AT_ONCE));
    note_neighbours(marking);
    return (int64_t)n;
}

static int unmap_advised(const struct marking *marking)
{
    struct ram_walk walk = {.by = marking->states[0]};
    int rc = read_entries(marking, is_advised);
    int64_t mapped;

    for (uint64_t k = 0; rc == 0 && k < marking->merge->n; k++) {
        const struct page_place place = marking->merge->place[k];

        if (is_wanted(marking, k, is_advised))
            note_page(state_at(marking, place), place.i, &walk);
    }
    mapped = rc == 0 ? map_around(marking) : rc;
    rc = mapped > 0 ? read_entries(marking, is_advised) : (int)mapped;
    for (uint64_t k = 0; rc == 0 && k < marking->merge->n; k++)
        if (is_wanted(marking, k, is_idle_advised))
            leave_out_large(state_at(marking, marking->merge->place[k]),
                            marking->merge->place[k].i);
    return rc == 0 ? unmap_pages(marking) : rc;
}

static void note_still_mapped(struct pageout *pageout)
{
    struct page_set *set = pageout->set;

    for (uint64_t i = 0; i < set->n; i++)
        if (is_mapped(pageout, i))
            set->state[i] = can_be_unmapped(pageout, PAGEMAP_PFN(pageout->entry[i]))
                                ? PAGE_TOUCHED /* it was unmapped, and mapped again before the
                                                * check */
                                : PAGE_UNMEASURABLE;
}

/* Returns true if page flags show reads by other processes. */
static bool tells_readers(const struct target *target)
{
    return target->root->live && target->process->accel == ACCEL_TCG;
}

static struct qemu_io readers_io(const struct target *target)
{
    return tells_readers(target) ? qemu_process_io(target->root, target->process)
                                 : (struct qemu_io){0};
}

static int mark_pages(void *const *states, size_t n, const struct page_merge *merge,
                      bool (*wanted)(enum page_state), struct error *error)
{
    const struct marking marking = {.states = states, .merge = merge};
    const struct pageout *first = states[0];
    const struct qemu_io io = readers_io(first->target);
    int rc = check_swap(first->target->root,
                        error); /* checked each time: swap may be added in the meantime */

    if (rc < 0)
        return rc;
    for (size_t s = 0; s < n; s++) {
        struct pageout *pageout = states[s];

        pageout->io = io;
        for (uint64_t i = 0; i < pageout->set->n; i++)
            pageout->advised[i] = pageout->others_unmap ||
                                  wanted((enum page_state)pageout->set->state[i]);
    }
    rc = unmap_advised(&marking);
    if (rc < 0)
        return error_set(error, rc, "process_madvise(MADV_PAGEOUT): %s", strerror(-rc));
    for (size_t s = 0; s < n; s++)
        note_still_mapped(states[s]);
    for (size_t s = 1; s < n; s++)
        sentinels_end(&((struct pageout *)states[s])->sentinels);
    sentinels_renew(&((struct pageout *)states[0])->sentinels);
    return 0;
}

static int mark_set(void *state, bool (*wanted)(enum page_state), struct error *error)
{
    const struct page_set *set = ((const struct pageout *)state)->set;
    struct page_merge merge;
    int rc = page_merge_make(&merge, &set, 1);

    rc = rc < 0 ? error_set(error, rc, "pageout: out of memory")
                : mark_pages(&state, 1, &merge, wanted, error);
    page_merge_free(&merge);
    return rc;
}

static int pageout_mark(void *state, struct error *error)
{
    return mark_set(state, page_any, error);
}

static int pageout_rearm(void *state, struct error *error)
{
    return mark_set(state, page_needs_rearm, error);
}

static int pageout_rearm_many(void *const *states, size_t n, const struct page_merge *merge,
                              struct error *error)
{
    return mark_pages(states, n, merge, page_needs_rearm, error);
}

/* --- collecting ------------------------------------------------------------------------------- */

/* An idle page is unmapped; only the file shows whether it still exists. A balloon or a hole in the
 * file removes just the pages that are idle. If a page was absent and is now in the file, but not
 * mapped, another process put it there. */
static void see_page(struct pageout *pageout, uint64_t i, bool mapped, struct ram_walk *walk)
{
    struct page_set *set = pageout->set;
    enum page_state state = (enum page_state)set->state[i];

    if (mapped) {
        if (state != PAGE_UNMEASURABLE)
            set->state[i] = PAGE_TOUCHED;
    } else if (!in_file(walk, page_set_page(set, i))) {
        set->state[i] = (uint8_t)page_lost(state, PAGE_ABSENT);
    } else if (state == PAGE_ABSENT) {
        set->state[i] = PAGE_UNMEASURABLE;
    }
}

/* Returns true if a neighbour that was mapped at marking is unmapped now, and is still in the
 * file. */
static bool lost_neighbour(struct ram_walk *walk, uint64_t page, uint16_t neighbours)
{
    struct around around;
    uint16_t lost;

    if (read_around(walk->by, page, &around) < 0)
        return false;
    lost = (uint16_t)(neighbours & ~mapped_of(&around));
    for (uint64_t k = 0; k < around.n; k++)
        if ((lost & (1U << k)) && around.first + k != page && in_file(walk, around.first + k))
            return true;
    return false;
}

/* A page that another process unmapped, and that the guest's fault at a neighbour mapped again,
 * reads touched; a page that was touched before it was unmapped reads idle. Other processes unmap
 * more than one page of an aligned range, and idle pages among them are not mapped again: the
 * neighbours show it. */
static bool others_unmap(const struct pageout *pageout)
{
    const struct page_set *set = pageout->set;
    struct ram_walk walk = {.by = pageout};

    for (uint64_t i = 0; i < set->n; i++) {
        const uint64_t page = page_set_page(set, i);

        if (set->state[i] == PAGE_IDLE && is_looked_at(pageout, i) &&
            lost_neighbour(&walk, page, pageout->neighbours[i]))
            return true;
    }
    return false;
}

/* Sets that are read together. */
struct reading {
    void *const *states;
    size_t n;
    struct qemu_io now;
};

static bool is_sentinel(const struct reading *reading, uint64_t page)
{
    for (size_t s = 0; s < reading->n; s++)
        if (sentinels_hold(&((const struct pageout *)reading->states[s])->sentinels, page))
            return true;
    return false;
}

/* A TCG guest's own faults do not set PG_referenced, which was cleared when the page was unmapped.
 * A KVM guest's faults set it (virt/kvm/kvm_main.c, hva_to_pfn()). */
static bool was_read_by_others(const struct reading *reading, const struct pageout *pageout,
                               uint64_t i)
{
    const uint64_t page = page_set_page(pageout->set, i);
    uint64_t entry = 0;
    uint64_t pfn;
    uint64_t flags = 0;

    if (pageout->set->state[i] != PAGE_TOUCHED ||
        pagemap_read(pageout->pagemap_fd, pageout->target->ram, &page, 1, &entry) < 0 ||
        !(entry & PAGEMAP_PRESENT))
        return false;
    pfn = PAGEMAP_PFN(entry);
    return kpageflags_read(pageout->flags_fd, &pfn, 1, &flags) == 0 && (flags & KPF_REFERENCED) &&
           !is_sentinel(reading, page);
}

/* Pages moved between the guest's disks and its RAM without a copy have the flag, too. */
static bool were_read_by_others(const struct reading *reading, struct pageout *pageout)
{
    const struct page_set *set = pageout->set;
    uint64_t read = 0;

    for (uint64_t i = 0; i < set->n; i++) {
        pageout->was_read[i] = was_read_by_others(reading, pageout, i);
        read += pageout->was_read[i];
    }
    return read > 0 && (double)read / (double)set->n * (double)set->ram->bytes >
                           (double)qemu_io_direct_bytes(&pageout->io, &reading->now);
}

/* Pages that others read may also have been touched by the guest. Pages that a monitor read have no
 * flag. */
static bool note_readers(const struct reading *reading, struct pageout *pageout,
                         struct tally *tally)
{
    struct page_set *set = pageout->set;
    const uint64_t by_monitor = qemu_io_monitor_bytes(&pageout->io, &reading->now);
    const bool by_others = were_read_by_others(reading, pageout);

    for (uint64_t i = 0; by_others && i < set->n; i++)
        if (pageout->was_read[i])
            set->state[i] = PAGE_UNMEASURABLE;
    page_set_tally(set, tally);
    tally->doubts |= by_others || by_monitor > 0 ? DOUBT_READ_BY_OTHERS : 0;
    tally->younger_units = base_pages(by_monitor);
    return by_others;
}

static uint64_t resident_pages(const struct pageout *pageout, const struct tally *tally)
{
    const double share = (double)tally->drawn_absent / (double)larger(pageout->set->n, 1);

    return (uint64_t)((1 - share) * (double)pageout->set->ram->n_pages);
}

/* Returns true if sentinels that have lost their flag were unmapped. Each stands for its share of
 * the resident memory, which came back by at least one fault for each aligned range; a quarter of
 * that share is required, because the sentinels are a sample. MADV_COLD and clear_refs take the
 * flag without a fault. */
static bool came_back(const struct pageout *pageout, const struct qemu_io *now, double lost,
                      const struct tally *tally)
{
    const uint64_t ranges = resident_pages(pageout, tally) /
                            larger(FAULT_AROUND_BYTES / base_page_bytes(), 1);

    return lost > 0 && (pageout->sentinels.large ||
                        (double)less(now->faults, pageout->io.faults) >= lost * (double)ranges / 4);
}

/* When the sets of a panel are marked, they take the flags of each other's sentinels, but not those
 * of two neighbours. */
static bool were_sentinels_unmapped(const struct reading *reading, bool readers)
{
    const struct pageout *first = reading->states[0];

    if (reading->n == 1)
        return !readers && sentinels_lost(&first->sentinels, true) > 0;
    for (size_t s = 0; !readers && s < reading->n; s++)
        if (sentinels_lost_pair(&((const struct pageout *)reading->states[s])->sentinels))
            return true;
    return false;
}

/* A process that only takes bits, by MADV_COLD or clear_refs, unmaps nothing: pages that read idle
 * are idle. But the flags that show other readers are cleared with the bits, and a page that those
 * readers mapped reads as touched: there is no lower bound. A process that was unmapping while the
 * pages were read may have gone on while they were marked again. */
static void note_unmapping(const struct reading *reading, struct pageout *pageout, bool readers,
                           struct tally *tally)
{
    const bool before = pageout->others_unmap;
    const double taken = reading->n == 1 ? sentinels_lost(&pageout->sentinels, false) : 0;

    pageout->others_unmap = others_unmap(pageout) ||
                            came_back(pageout, &reading->now, taken, tally) ||
                            were_sentinels_unmapped(reading, readers);

    const bool unmapped = pageout->others_unmap || before;

    if (!unmapped && taken == 0)
        return;
    tally_doubt(tally, DOUBT_BITS_TAKEN, unmapped ? HIDDEN_ANY : 0);
    tally->younger_units = HIDDEN_ANY;
}

/* Notes disturbances by other processes since the marking, and counts. */
static void count_pages(void *const *states, size_t n, struct tally *tallies)
{
    const struct target *target = ((const struct pageout *)states[0])->target;
    const struct reading reading = {.states = states, .n = n, .now = readers_io(target)};

    for (size_t s = 0; s < n; s++) {
        bool readers = false;

        if (tells_readers(target))
            readers = note_readers(&reading, states[s], &tallies[s]);
        else
            page_set_tally(((const struct pageout *)states[s])->set, &tallies[s]);
        note_unmapping(&reading, states[s], readers, &tallies[s]);
    }
}

static int read_merged(void *const *states, const struct page_merge *merge)
{
    const struct pageout *first = states[0];
    struct ram_walk walk = {.by = first};
    cleanup_free bool *mapped = calloc(merge->n + 1, sizeof(*mapped));
    int rc = mapped ? pagemap_present(first->pagemap_fd, first->target->ram, merge->page, merge->n,
                                      mapped)
                    : -ENOMEM;

    for (uint64_t k = 0; rc == 0 && k < merge->n; k++)
        see_page(states[merge->place[k].set], merge->place[k].i, mapped[k], &walk);
    return rc;
}

static int pageout_collect_many(void *const *states, size_t n, const struct page_merge *merge,
                                struct tally *tallies, struct error *error)
{
    const struct pageout *first = states[0];
    int rc = read_merged(states, merge);

    if (rc < 0)
        return error_set(error, rc, "/proc/%d/pagemap: %s", first->target->process->pid,
                         strerror(-rc));
    count_pages(states, n, tallies);
    return 0;
}

static int pageout_collect(void *state, struct tally *tally, struct error *error)
{
    const struct page_set *set = ((const struct pageout *)state)->set;
    struct page_merge merge;
    int rc = page_merge_make(&merge, &set, 1);

    rc = rc < 0 ? error_set(error, rc, "pageout: out of memory")
                : pageout_collect_many(&state, 1, &merge, tally, error);
    page_merge_free(&merge);
    return rc;
}

/* --- restoring -------------------------------------------------------------------------------- */

/* Maps only pages that this process unmapped: pages that were unmapped before stay as they were,
 * and so does a hole that the balloon has punched meanwhile. */
static void map_again(struct pageout *pageout)
{
    const struct page_set *set = pageout->set;
    pid_t pid = pageout->target->process->pid;
    struct iovec there[TOUCH_AT_ONCE];
    struct ram_walk walk = {.by = pageout};
    size_t n = 0;
    bool alive = true;

    for (uint64_t i = 0; alive && i < set->n; i++) {
        if (set->state[i] != PAGE_IDLE || pageout->was_unmapped[i] ||
            !in_file(&walk, page_set_page(set, i)))
            continue;
        there[n++] = (struct iovec){.iov_base = (void *)(uintptr_t)page_set_hva(set, i),
                                    .iov_len = 1};
        if (n < TOUCH_AT_ONCE)
            continue;
        alive = touch_pages(pid, there, n);
        n = 0;
    }
    if (alive)
        touch_pages(pid, there, n);
}

static void pageout_close(void *state)
{
    struct pageout *pageout = state;

    /* if another address space is mapped there now, it must not be touched */
    if (pageout->entry && pageout->was_unmapped &&
        qemu_process_verify(pageout->target->root, pageout->target->process, NULL) != -ESTALE)
        map_again(pageout);
    for (size_t b = 0; pageout->file_fds && b < pageout->target->ram->n_blocks; b++)
        cleanup_close_at(&pageout->file_fds[b]);
    sentinels_close(&pageout->sentinels);
    cleanup_close_at(&pageout->pagemap_fd);
    kpage_release(&pageout->flags_fd);
    kpage_release(&pageout->count_fd);
    free(pageout->file_fds);
    free(pageout->advised);
    free(pageout->entry);
    free(pageout->neighbours);
    free(pageout->was_unmapped);
    free(pageout->was_read);
    free(pageout);
}

/* --- opening ---------------------------------------------------------------------------------- */

static int open_files(struct pageout *pageout, struct error *error)
{
    const struct guest_ram *ram = pageout->target->ram;

    pageout->file_fds = calloc(ram->n_blocks + 1, sizeof(*pageout->file_fds));
    if (!pageout->file_fds)
        return error_set(error, -ENOMEM, "pageout: out of memory");
    for (size_t b = 0; b < ram->n_blocks; b++)
        pageout->file_fds[b] = -1;
    for (size_t b = 0; b < ram->n_blocks; b++) {
        pageout->file_fds[b] = backing_file_open(pageout->target, &ram->blocks[b], error);
        if (pageout->file_fds[b] < 0)
            return pageout->file_fds[b];
    }
    return 0;
}

static int open_kernel_files(struct pageout *pageout, struct error *error)
{
    pageout->pagemap_fd = pagemap_open(pageout->target, error);
    if (pageout->pagemap_fd < 0)
        return pageout->pagemap_fd;
    pageout->flags_fd = kpageflags_share(pageout->target->root, error);
    if (pageout->flags_fd < 0)
        return pageout->flags_fd;
    pageout->count_fd = kpagecount_share(pageout->target->root, error);
    return pageout->count_fd < 0 ? pageout->count_fd : 0;
}

/* The number of calls that unmap a page that the guest touched; see the head of this file for
 * TCG. */
static int calls_for(const struct target *target, struct error *error)
{
    int calls = pageout_calls(error);

    return calls > 0 && target->process->accel == ACCEL_TCG ? 1 : calls;
}

static int acquire(struct pageout *pageout, struct error *error)
{
    uint64_t n = pageout->set->n ? pageout->set->n : 1;
    int rc = check_swap(pageout->target->root, error);

    if (rc < 0)
        return rc;
    pageout->calls = calls_for(pageout->target, error);
    if (pageout->calls < 0)
        return pageout->calls;
    rc = open_files(pageout, error);
    if (rc == 0)
        rc = open_kernel_files(pageout, error);
    if (rc < 0)
        return rc;
    pageout->advised = calloc(n, sizeof(*pageout->advised));
    pageout->entry = calloc(n, sizeof(*pageout->entry));
    pageout->neighbours = calloc(n, sizeof(*pageout->neighbours));
    pageout->was_unmapped = calloc(n, sizeof(*pageout->was_unmapped));
    pageout->was_read = calloc(n, sizeof(*pageout->was_read));
    if (!pageout->advised || !pageout->entry || !pageout->neighbours || !pageout->was_unmapped ||
        !pageout->was_read)
        return error_set(error, -ENOMEM, "pageout: out of memory");
    if (tells_readers(pageout->target))
        sentinels_open(pageout->target, &pageout->sentinels);
    pageout->sentinels.pairs = true;
    thin_out(pageout->set);
    return 0;
}

static int pageout_open(const struct target *target, struct page_set *set, void **state,
                        struct error *error)
{
    struct pageout *pageout = calloc(1, sizeof(*pageout));

    if (!pageout)
        return error_set(error, -ENOMEM, "pageout: out of memory");
    pageout->target = target;
    pageout->set = set;
    pageout->pagemap_fd = pageout->flags_fd = pageout->count_fd = -1;
    sentinels_none(&pageout->sentinels);

    int rc = acquire(pageout, error);

    if (rc < 0)
        pageout_close(pageout);
    else
        *state = pageout;
    return rc;
}

/* --- requirements ----------------------------------------------------------------------------- */

static int check_block(const struct ram_block *block, struct error *why)
{
    if (block->backing == RAM_BACKING_FILE)
        return error_set(why, -ENOTSUP,
                         "guest RAM is a file on disk: MADV_PAGEOUT would do disk I/O");
    if (block->backing != RAM_BACKING_SHMEM || !block->shared)
        return error_set(why, -ENOTSUP,
                         "needs shared memfd or tmpfs RAM (this is %s): private memory "
                         "would have to be swapped out",
                         ram_backing_name(block->backing));
    if (block->locked)
        return error_set(why, -ENOTSUP, "guest RAM is locked (mlock) and cannot be unmapped");
    if (block->huge_bytes > 0)
        return error_set(why, -ENOTSUP,
                         "guest RAM has transparent huge pages, which MADV_PAGEOUT of one "
                         "page would split");
    return 0;
}

/* Unmaps @p n pages for real. */
static int unmap_some(const struct target *target, uint64_t n, uint64_t *unmapped,
                      uint64_t *unmeasurable, struct error *why)
{
    struct page_set set;
    void *state = NULL;
    int rc = page_set_panel(&set, target->ram, n, target->process->start_ticks);

    if (rc < 0)
        return error_set(why, rc, "out of memory");
    rc = pageout_open(target, &set, &state, why);
    if (rc == 0) {
        rc = pageout_mark(state, why);
        for (uint64_t i = 0; rc == 0 && i < set.n; i++) {
            *unmapped += set.state[i] == PAGE_IDLE || set.state[i] == PAGE_TOUCHED;
            *unmeasurable += set.state[i] == PAGE_UNMEASURABLE;
        }
        pageout_close(state);
    }
    page_set_free(&set);
    return rc;
}

/* One page that is unmapped is proof; in most guests nearly every page is: a few pages are tried
 * before many. */
static int trial(const struct target *target, struct error *why)
{
    uint64_t unmapped = 0;
    uint64_t unmeasurable = 0;
    int rc = unmap_some(target, 16, &unmapped, &unmeasurable, why);

    if (rc == 0 && unmapped == 0)
        rc = unmap_some(target, 256, &unmapped, &unmeasurable, why);
    if (rc == 0 && unmapped == 0 && unmeasurable > 0)
        rc = error_set(why, -ENOTSUP,
                       "the kernel unmaps none of its pages; another process "
                       "(vhost-user, a dump) may map the same memory");
    return rc;
}

static int pageout_host(const struct fsroot *root, struct error *why)
{
    int rc = check_swap(root, why);

    if (rc == 0)
        rc = advise_permitted(why);
    if (rc == 0)
        rc = pageout_calls(why);
    return rc < 0 ? rc : 0;
}

static int pageout_probe(const struct target *target, struct error *why)
{
    for (size_t b = 0; b < target->ram->n_blocks; b++) {
        int rc = check_block(&target->ram->blocks[b], why);

        if (rc < 0)
            return rc;
    }

    int rc = check_swap(target->root, why);

    return rc < 0 ? rc : trial(target, why);
}

const struct method method_pageout = {
    .name = "pageout",
    .summary =
        "MMU invalidation of shared RAM by MADV_PAGEOUT where there is no swap (KVM and TCG)",
    .panel = true,
    .needs_pages = true,
    .sees_qemu = true,
    .sees_unmapped = true,
    .rank = {[ORDER_KVM] = 4,
             [ORDER_KVM_AGEING] = 2,
             [ORDER_TCG] = 3,
             [ORDER_TCG_AGEING] = 1,
             [ORDER_DAEMON] = 2,
             [ORDER_DAEMON_AGEING] = 1},
    .verified_page_sizes = BASE_ALL,
    .host = pageout_host,
    .probe = pageout_probe,
    .open = pageout_open,
    .mark = pageout_mark,
    .collect = pageout_collect,
    .collect_many = pageout_collect_many,
    .rearm = pageout_rearm,
    .rearm_many = pageout_rearm_many,
    .reach_bytes = FAULT_AROUND_BYTES,
    .close = pageout_close,
};
