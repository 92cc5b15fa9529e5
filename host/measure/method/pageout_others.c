// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/method/pageout_others.h"

#include "base/bytes.h"
#include "measure/kernel/kpageflags.h"
#include "measure/kernel/pagemap.h"
#include "measure/method/first_mapping.h"
#include "measure/method/pageout_around.h"

bool pageout_tells_readers(const struct target *target)
{
    return target->root->live && target->process->accel == ACCEL_TCG;
}

struct qemu_io pageout_readers_io(const struct target *target)
{
    return pageout_tells_readers(target) ? qemu_process_io(target->root, target->process)
                                         : (struct qemu_io){0};
}

/* Sets that are read together. */
struct reading {
    void *const *states;
    size_t n;
    struct qemu_io now;
    bool lost_pair; /* of any of the sets: see sentinels_lost_pair() */
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

/* One fault maps a whole large folio. */
static bool came_alone(const struct pageout *pageout, uint64_t i)
{
    const uint64_t page = page_set_page(pageout->set, i);
    uint64_t entry = 0;
    uint64_t pfn;
    uint64_t flags;

    if (!pageout->came[i] || pageout->set->state[i] != PAGE_TOUCHED ||
        pagemap_read(pageout->pagemap_fd, pageout->target->ram, &page, 1, &entry) < 0 ||
        !(entry & PAGEMAP_PRESENT))
        return false;
    pfn = PAGEMAP_PFN(entry);
    return kpageflags_read(pageout->flags_fd, &pfn, 1, &flags) == 0 &&
           !(flags & (KPF_COMPOUND_HEAD | KPF_COMPOUND_TAIL));
}

/* New pages of the file come by one fault each, unless others have put them there: then one fault
 * maps a whole range of them. The pages are a sample, and must be more than QEMU's faults beyond
 * chance. */
static void note_put_by_others(const struct reading *reading, const struct pageout *pageout,
                               struct tally *tally)
{
    const struct page_set *set = pageout->set;
    const double each = (double)set->ram->n_pages / (double)larger(set->n, 1);
    const double around = (double)larger(FAULT_AROUND_BYTES / base_page_bytes(), 1);
    const struct faults faults = {pageout->io.faults, reading->now.faults};
    uint64_t came = 0;

    for (uint64_t i = 0; i < set->n; i++)
        came += came_alone(pageout, i);
    if (!faults_are_fewer(&faults, came, each))
        return;
    tally->doubts |= DOUBT_FIRST_MAPPING;
    tally->younger_units += (uint64_t)((double)came * each * (1 - 1 / around));
}

static uint64_t resident_pages(const struct pageout *pageout, const struct tally *tally)
{
    const double share = (double)tally->drawn_absent / (double)larger(pageout->set->n, 1);

    return (uint64_t)((1 - share) * (double)pageout->set->ram->n_pages);
}

/* Returns true if sentinels that have lost their flag were unmapped: then so much of the resident
 * memory as they stand for has come back, by at least one fault for each aligned range. A quarter
 * of these faults is required, because the sentinels are a sample. MADV_COLD and clear_refs take
 * the flag without a fault. */
static bool came_back(const struct pageout *pageout, const struct qemu_io *now, double lost,
                      const struct tally *tally)
{
    const uint64_t ranges = resident_pages(pageout, tally) /
                            larger(FAULT_AROUND_BYTES / base_page_bytes(), 1);

    return lost > 0 && (pageout->sentinels.large ||
                        (double)less(now->faults, pageout->io.faults) >= lost * (double)ranges / 4);
}

static bool lost_pair(void *const *states, size_t n)
{
    for (size_t s = 0; n > 1 && s < n; s++)
        if (sentinels_lost_pair(&((const struct pageout *)states[s])->sentinels))
            return true;
    return false;
}

/* When the sets of a panel are marked, they take the flags of each other's sentinels, but not those
 * of two neighbours. */
static bool were_sentinels_unmapped(const struct reading *reading, bool readers)
{
    const struct pageout *first = reading->states[0];

    return !readers &&
           (reading->n == 1 ? sentinels_lost(&first->sentinels, true) > 0 : reading->lost_pair);
}

/* A process that only takes bits, by MADV_COLD or clear_refs, unmaps nothing: pages that read idle
 * are idle. But the flags that show other readers are cleared with the bits, and a page that those
 * readers mapped reads as touched: there is no lower bound. A process that was unmapping while the
 * pages were read may have gone on while they were marked again. */
static void note_unmapping(const struct reading *reading, struct pageout *pageout,
                           struct tally *tally)
{
    const bool before = pageout->others_unmap;
    const double taken = reading->n == 1 ? sentinels_lost(&pageout->sentinels, false) : 0;

    pageout->others_unmap = pageout_others_unmap(pageout) ||
                            came_back(pageout, &reading->now, taken, tally) ||
                            were_sentinels_unmapped(reading, pageout->readers);

    const bool unmapped = pageout->others_unmap || before;

    if (!unmapped && taken == 0)
        return;
    tally_doubt(tally, DOUBT_BITS_TAKEN, unmapped ? HIDDEN_ANY : 0);
    tally->younger_units = HIDDEN_ANY;
}

void pageout_count(void *const *states, size_t n, struct tally *tallies)
{
    const struct target *target = ((const struct pageout *)states[0])->target;
    const struct reading reading = {.states = states,
                                    .n = n,
                                    .now = pageout_readers_io(target),
                                    .lost_pair = lost_pair(states, n)};

    for (size_t s = 0; s < n; s++) {
        struct pageout *pageout = states[s];

        if (pageout_tells_readers(target)) {
            pageout->readers = note_readers(&reading, pageout, &tallies[s]);
            note_put_by_others(&reading, pageout, &tallies[s]);
        } else {
            page_set_tally(pageout->set, &tallies[s]);
        }
        note_unmapping(&reading, pageout, &tallies[s]);
    }
}
