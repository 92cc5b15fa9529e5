// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/method/referenced_count.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "measure/kernel/ram_smaps.h"
#include "measure/method/folio_strata.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int referenced_count_host(const struct fsroot *root, struct error *why)
{
    if (fsroot_exists(root, "proc/self/clear_refs") && fsroot_exists(root, "proc/self/smaps"))
        return 0;
    return error_set(why, -ENOENT,
                     "/proc/PID/clear_refs or smaps is missing: the kernel needs "
                     "CONFIG_PROC_PAGE_MONITOR=y");
}

int referenced_count_probe(const struct target *target, struct error *why)
{
    if (target->process->accel == ACCEL_KVM)
        return error_set(
            why, -ENOTSUP,
            "blind to KVM guests: they set the accessed bit in KVM's own "
            "page tables (EPT/NPT), which smaps never reads; use idle, zap or zap-all");

    struct ram_smaps sums;
    int rc = ram_smaps_read(target, &sums, why);

    if (rc < 0)
        return rc;
    if (sums.resident_bytes == 0 && sums.hugetlb_bytes > 0)
        return error_set(why, -ENOTSUP,
                         "smaps counts no references of hugetlb pages, and this "
                         "guest's RAM is all hugetlb");
    return 0;
}

static void add_stratum(struct tally *tally, uint64_t granularity_bytes, uint64_t bytes)
{
    struct stratum *stratum = bytes ? tally_stratum(tally, granularity_bytes) : NULL;

    if (stratum)
        stratum->draws += base_pages(bytes);
}

/* Includes pages that were huge when the RAM was located: when a huge page is split, every base
 * page inherits the accessed bit. */
static uint64_t huge_bytes(const struct target *target, const struct ram_smaps *sums)
{
    uint64_t located = 0;

    for (size_t b = 0; b < target->ram->n_blocks; b++)
        if (target->ram->blocks[b].backing != RAM_BACKING_HUGETLB)
            located += target->ram->blocks[b].huge_bytes;
    if (located < sums->huge_bytes)
        located = sums->huge_bytes;
    return located < sums->resident_bytes ? located : sums->resident_bytes;
}

/* Sets the strata from smaps, which shows a folio that is mapped by base pages as base pages, or
 * from the folios; memory that was huge when it was located counts as huge in both cases. */
static void put_strata(const struct target *target, const struct ram_smaps *sums,
                       struct tally *tally)
{
    const uint64_t huge = huge_bytes(target, sums);
    struct stratum *stratum;

    add_stratum(tally, base_page_bytes(), sums->resident_bytes - huge);
    add_stratum(tally, huge_page_bytes(), huge);
    if (!target->root->live)
        return;
    folio_strata(target, tally);
    stratum = huge > 0 ? tally_stratum(tally, huge_page_bytes()) : NULL;
    if (stratum)
        stratum->draws = larger(stratum->draws, base_pages(huge));
}

static int count_smaps(const struct target *target, struct tally *tally, struct error *error)
{
    struct ram_smaps sums;
    int rc = ram_smaps_read(target, &sums, error);

    if (rc < 0)
        return rc;
    memset(tally, 0, sizeof(*tally));
    tally->census = true;
    tally->resident_bytes = sums.resident_bytes + sums.hugetlb_bytes;
    tally->touched_bytes = sums.referenced_bytes;
    tally->unmeasurable_bytes = sums.hugetlb_bytes;
    tally->shared_bytes = sums.shared_bytes;
    tally->swapped_pages = base_pages(sums.swapped_bytes);
    put_strata(target, &sums, tally);
    return 0;
}

/* --- disturbances by others ------------------------------------------------------------------- */

/* The sentinels that could not be taken back are a random sample: the same share of them was
 * touched as of the other pages, or no sentinel, or all of them. */
static void leave_out_sentinels(struct tally *tally, uint64_t kept_bytes)
{
    const uint64_t bytes = smaller(kept_bytes, tally->touched_bytes);
    const uint64_t touched = tally->touched_bytes - bytes;
    const uint64_t others = larger(less(tally->resident_bytes, bytes), 1);
    const double share = (double)smaller(touched, others) / (double)others;
    const uint64_t likely = base_pages((uint64_t)(share * (double)bytes)) * base_page_bytes();

    tally->touched_bytes = touched + likely;
    tally->surplus_bytes += likely;
    tally->missed_bytes += bytes - likely;
}

static void add_surplus(struct tally *tally, uint64_t bytes)
{
    tally->surplus_bytes = smaller(tally->surplus_bytes + bytes, tally->touched_bytes);
}

/* If a file had a page before QEMU mapped it, the page kept its flag when the others were marked.
 * Large folios of a file on a disk keep it, too, and nothing else is known about those. Both do not
 * apply to a page of a private mapping once it is written, because it is a copy. */
static bool flag_was_cleared(const void *context, uint64_t page, bool anonymous)
{
    const struct referenced_count *count = context;

    return anonymous || (guest_ram_block(count->target->ram, page)->backing != RAM_BACKING_FILE &&
                         (!count->first || !first_mapping_held(count->first, page)));
}

/* Pages moved between the guest's disks and its RAM without a copy have the flag, too. Pages read
 * by a monitor have an accessed bit instead. */
static bool note_readers(const struct referenced_count *count, const struct qemu_io *now,
                         uint64_t kept_bytes, struct tally *tally)
{
    const uint64_t flagged = less(
        sentinels_flagged_bytes(&count->sentinels, flag_was_cleared, count), kept_bytes);
    const uint64_t by_others = flagged > qemu_io_direct_bytes(&count->io, now) ? flagged : 0;
    const uint64_t by_monitor = qemu_io_monitor_bytes(&count->io, now);

    if (by_others + by_monitor == 0)
        return false;
    tally->doubts |= DOUBT_READ_BY_OTHERS;
    add_surplus(tally, by_others + by_monitor);
    return true;
}

/* Another reader's faults map pages and neighbours, as the guest's faults do. */
static int note_mappings(struct referenced_count *count, bool readers, struct tally *tally)
{
    struct first_mapped came;
    int rc = count->first ? first_mapping_count(count->first, &came) : 0;

    if (rc < 0 || !count->first)
        return rc;
    if (came.pages > came.touched)
        tally->doubts |= DOUBT_FIRST_MAPPING;
    add_surplus(tally, (readers ? came.all : came.pages - came.touched) * base_page_bytes());
    count->taken |= came.unmapped > 0;
    return 0;
}

/* Returns true if sentinels were unmapped and mapped again. Each stands for its share of the mapped
 * memory, which came back by one fault for each reach; half of that share is required, because the
 * sentinels are a sample. If others merely read the sentinels, there are no such faults. */
static bool were_unmapped(const struct referenced_count *count, uint64_t faults, double activated,
                          const struct tally *tally)
{
    const double pages = activated * (double)base_pages(tally->resident_bytes);

    return count->first && activated > 0 &&
           (double)faults >= pages / (double)first_mapping_reach(count->first, (uint64_t)pages) / 2;
}

/* Touches add up: if a count fell by more than the memory that left, some touches were lost. */
static bool has_fallen(const struct referenced_count *count, const struct tally *tally)
{
    const uint64_t left = less(count->last.resident_bytes, tally->resident_bytes);

    return tally->touched_bytes + tally->missed_bytes + left < count->last.least_bytes;
}

/* Any page may have been touched before its bit was taken, also one of a private mapping or of a
 * host with swap that is not there any more. If pages were unmapped, those that came back since
 * brought their neighbours. */
static void note_taken(const struct referenced_count *count, struct tally *tally)
{
    const uint64_t pages = base_pages(tally->touched_bytes);

    if (count->first) {
        const uint64_t reach = first_mapping_reach(count->first, pages);

        add_surplus(tally, (pages - (pages + reach - 1) / reach) * base_page_bytes());
    }
    tally_doubt(tally, DOUBT_BITS_TAKEN, HIDDEN_ANY);
    tally->left_bytes = less(count->most_bytes, tally->resident_bytes);
}

/* Pages that were counted before have been touched since the marking, too. */
static void count_as_before(const struct referenced_count *count, struct tally *tally)
{
    tally->touched_bytes = smaller(count->last.touched_bytes, tally->resident_bytes);
    tally->surplus_bytes = smaller(larger(count->last.surplus_bytes, tally->surplus_bytes),
                                   tally->touched_bytes);
}

int referenced_count_open(const struct target *target, void **state, struct error *error)
{
    struct referenced_count *count = calloc(1, sizeof(*count));
    int rc = count ? first_mapping_open(target, &count->first, error)
                   : error_set(error, -ENOMEM, "out of memory");

    if (rc < 0) {
        free(count);
        return rc;
    }
    count->target = target;
    sentinels_open(target, &count->sentinels);
    *state = count;
    return 0;
}

void referenced_count_close(void *state)
{
    struct referenced_count *count = state;

    sentinels_close(&count->sentinels);
    first_mapping_close(count->first);
    free(count);
}

int referenced_count_begin(struct referenced_count *count, struct error *error)
{
    struct ram_smaps sums;
    int rc = count->first ? first_mapping_begin(count->first) : 0;

    if (rc < 0)
        return error_set(error, rc, "pagemap: %s", strerror(-rc));
    rc = ram_smaps_read(count->target, &sums, error);
    if (rc < 0)
        return rc;
    count->most_bytes = sums.resident_bytes + sums.hugetlb_bytes;
    count->shared_bytes = sums.shared_bytes;
    return 0;
}

void referenced_count_marked(struct referenced_count *count)
{
    count->taken = false;
    count->last = (struct last_count){.touched_bytes = 0};
    count->io = qemu_process_io(count->target->root, count->target->process);
    sentinels_begin(&count->sentinels);
}

/* Counting takes at most one part in so many of the time. */
#define BETWEEN_PART 200

static void note_count(struct referenced_count *count, const struct ram_smaps *sums)
{
    /* the guest may have touched the sentinels, too */
    const uint64_t own_bytes = sentinels_bytes(&count->sentinels);
    const struct tally tally = {.resident_bytes = sums->resident_bytes + sums->hugetlb_bytes,
                                .touched_bytes = less(sums->referenced_bytes, own_bytes),
                                .missed_bytes = own_bytes};

    if (has_fallen(count, &tally))
        count->taken = true;
    else
        count->last = (struct last_count){.touched_bytes = tally.touched_bytes,
                                          .least_bytes = tally.touched_bytes,
                                          .resident_bytes = tally.resident_bytes};
}

void referenced_count_between(void *state)
{
    struct referenced_count *count = state;
    const uint64_t begin_ns = clock_ns();
    struct ram_smaps sums;

    if (begin_ns < count->between_ns || ram_smaps_read(count->target, &sums, NULL) < 0)
        return;
    count->most_bytes = larger(count->most_bytes, sums.resident_bytes + sums.hugetlb_bytes);
    if (guest_ram_has_huge_pages(count->target->ram))
        note_count(count, &sums);

    const uint64_t end_ns = clock_ns();

    count->between_ns = end_ns + (end_ns - begin_ns) * BETWEEN_PART;
}

int referenced_count_tally(struct referenced_count *count, struct tally *tally, struct error *error)
{
    struct sentinels_seen seen;

    sentinels_take(&count->sentinels, &seen);

    int rc = count_smaps(count->target, tally, error);

    if (rc < 0)
        return rc;
    leave_out_sentinels(tally, seen.kept_bytes);

    const struct qemu_io now = qemu_process_io(count->target->root, count->target->process);
    const uint64_t faults = less(now.faults, count->io.faults);
    const uint64_t least_bytes = tally->touched_bytes - tally->surplus_bytes;
    const bool fallen = has_fallen(count, tally);

    count->taken |= fallen || seen.taken || were_unmapped(count, faults, seen.activated, tally);
    rc = note_mappings(count, note_readers(count, &now, seen.kept_bytes, tally), tally);
    if (rc < 0)
        return error_set(error, rc, "pagemap: %s", strerror(-rc));
    if (count->taken)
        note_taken(count, tally);
    if (fallen)
        count_as_before(count, tally);
    else
        count->last = (struct last_count){.touched_bytes = tally->touched_bytes,
                                          .surplus_bytes = tally->surplus_bytes,
                                          .least_bytes = least_bytes,
                                          .resident_bytes = tally->resident_bytes};
    sentinels_plant(&count->sentinels);
    return 0;
}
