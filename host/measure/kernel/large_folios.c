// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/large_folios.h"

#include "base/meminfo.h"
#include "base/page_sizes.h"
#include "measure/kernel/vmstat.h"

#include <inttypes.h>
#include <string.h>

#define SIZE "sys/kernel/mm/transparent_hugepage/hugepages-%" PRIu64 "kB"

/* Uses a counter of shared memory allocated in folios of @p kib since boot, because the kernel does
 * not count the existing ones. */
static bool was_shared(const struct fsroot *root, uint64_t kib)
{
    uint64_t n = 0;

    return fsroot_read_u64(root, &n, SIZE "/stats/shmem_alloc", kib) == 0 && n > 0;
}

/* Reads "always inherit madvise [never]"; a file that cannot be read counts as on. */
static bool may_be_faulted(const struct fsroot *root, uint64_t kib)
{
    char modes[64];

    return fsroot_read(root, modes, sizeof(modes), SIZE "/enabled", kib) < 0
               ? fsroot_exists(root, SIZE "/enabled", kib)
               : !strstr(modes, "[never]");
}

/* Anonymous memory: since Linux 6.12 the kernel counts the existing folios. Before that, this uses
 * the folios faulted since boot (6.10), or else the sizes that are allowed now. */
static bool is_anonymous(const struct fsroot *root, uint64_t kib)
{
    uint64_t n = 0;

    if (fsroot_read_u64(root, &n, SIZE "/stats/nr_anon", kib) == 0 ||
        fsroot_read_u64(root, &n, SIZE "/stats/anon_fault_alloc", kib) == 0)
        return n > 0;
    return may_be_faulted(root, kib);
}

static uint64_t mapped_huge_bytes(const struct fsroot *root)
{
    struct host_memory memory;

    return meminfo_read(root, &memory, NULL) == 0 ? memory.anon_huge_bytes : 0;
}

/* Before 6.12: counts since boot the mappings that were split, and huge pages of shared memory,
 * because a fault may map these by base pages from the start. */
static bool was_taken_apart(const struct fsroot *root)
{
    return vmstat_read(root, "thp_split_pmd") > 0 || vmstat_read(root, "thp_file_alloc") > 0;
}

/* Returns true if some huge pages are not mapped by a PMD. */
static bool is_taken_apart(const struct fsroot *root)
{
    const uint64_t kib = huge_page_bytes() / 1024;
    uint64_t n = 0;

    if (fsroot_read_u64(root, &n, SIZE "/stats/nr_anon", kib) < 0)
        return was_taken_apart(root);
    return n * huge_page_bytes() > mapped_huge_bytes(root) || was_shared(root, kib);
}

bool large_folios_exist(const struct fsroot *root)
{
    const uint64_t base_kib = base_page_bytes() / 1024;
    bool any = is_taken_apart(root);

    for (unsigned order = 1; !any && order < huge_page_order(); order++)
        any = is_anonymous(root, base_kib << order) || was_shared(root, base_kib << order);
    return any;
}
