// SPDX-License-Identifier: LGPL-2.1-or-later
#include "proc/meminfo.h"

#include "proc/hidden.h"
#include "proc/keyed.h"

#include <stddef.h>

/* The lines that are read: those of meminfo, and two from which some members are computed. */
struct lines {
    struct meminfo meminfo;
    uint64_t huge_pages, huge_page_bytes; /* of the default size */
};

#define ROW(key, member)                                     \
    {                                                        \
        key, offsetof(struct lines, meminfo.member), #member \
    }
static const struct keyed_field fields[] = {
    ROW("MemTotal", total_bytes),
    ROW("MemFree", free_bytes),
    ROW("MemAvailable", available_bytes),
    ROW("AnonPages", anon_bytes),
    ROW("Cached", cache_bytes),
    ROW("Buffers", buffers_bytes),
    ROW("Shmem", shmem_bytes),
    ROW("Active(anon)", active_anon_bytes),
    ROW("Inactive(anon)", inactive_anon_bytes),
    ROW("Active(file)", active_file_bytes),
    ROW("Inactive(file)", inactive_file_bytes),
    ROW("Unevictable", unevictable_bytes),
    ROW("Dirty", dirty_bytes),
    ROW("Writeback", writeback_bytes),
    ROW("SReclaimable", slab_reclaimable_bytes),
    ROW("SUnreclaim", slab_unreclaimable_bytes),
    ROW("PageTables", page_tables_bytes),
    ROW("KernelStack", kernel_stack_bytes),
    ROW("Hugetlb", hugetlb_bytes),             /* of all sizes */
    ROW("HugePages_Free", hugetlb_free_bytes), /* in pages, converted later */
    ROW("SwapTotal", swap_total_bytes),
    ROW("SwapFree", swap_free_bytes),
    {"HugePages_Total", offsetof(struct lines, huge_pages), NULL},
    {"Hugepagesize", offsetof(struct lines, huge_page_bytes), NULL},
};
_Static_assert(offsetof(struct lines, meminfo) == 0, "an offset is the same in both");

static uint64_t product(uint64_t pages, uint64_t page_bytes)
{
    uint64_t bytes;

    return pages == KEYED_UNKNOWN || page_bytes == KEYED_UNKNOWN ||
                   __builtin_mul_overflow(pages, page_bytes, &bytes)
               ? KEYED_UNKNOWN
               : bytes;
}

int meminfo_read(const struct fsroot *root, struct meminfo *meminfo, struct error *error)
{
    struct lines lines;
    int rc = keyed_read(root, fields, COUNT(fields), &lines, "proc/meminfo");

    *meminfo = lines.meminfo;
    if (meminfo->hugetlb_bytes == KEYED_UNKNOWN)
        meminfo->hugetlb_bytes = product(lines.huge_pages, lines.huge_page_bytes);
    meminfo->hugetlb_free_bytes = product(meminfo->hugetlb_free_bytes, lines.huge_page_bytes);
    return rc < 0 ? proc_error(root, error, rc, "proc/meminfo") : 0;
}

json_t *meminfo_json(const struct meminfo *meminfo)
{
    return keyed_json(fields, COUNT(fields), meminfo);
}
