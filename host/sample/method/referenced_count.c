// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file referenced_count.c  See referenced_count.h. */
#include "sample/method/referenced_count.h"

#include "sample/kernel/ram_smaps.h"

#include <errno.h>
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

/* Also what was huge when the RAM was located: of a huge page that is split every base page
 * inherits the accessed bit. */
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

int referenced_count_tally(const struct target *target, struct tally *tally, struct error *error)
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
    add_stratum(tally, base_page_bytes(), sums.resident_bytes - huge_bytes(target, &sums));
    add_stratum(tally, huge_page_bytes(), huge_bytes(target, &sums));
    return 0;
}
