// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/pagemap_runs.h"

#include "base/bytes.h"
#include "base/page_sizes.h"
#include "measure/kernel/pagemap_entry.h"
#include "measure/kernel/pagemap_scan.h"
#include "measure/kernel/u64_file.h"

#include <errno.h>
#include <sys/ioctl.h>

#define REGIONS 512
#define CHUNK_ENTRIES 2048

static unsigned traits_of_categories(uint64_t categories)
{
    return (categories & SCAN_IS_PRESENT ? RUN_PRESENT : 0) |
           (categories & SCAN_IS_SWAPPED ? RUN_SWAPPED : 0) |
           (categories & SCAN_IS_PFNZERO ? RUN_ZERO : 0) |
           (categories & SCAN_IS_HUGE ? RUN_HUGE : 0) |
           (categories & SCAN_IS_SOFT_DIRTY ? RUN_SOFT_DIRTY : 0);
}

struct visitor {
    void (*visit)(void *context, const struct page_run *run);
    void *context;
};

static void pass(const struct visitor *visitor, uint64_t begin, uint64_t end, unsigned traits,
                 bool scanned)
{
    const struct page_run run = {
        .hva = begin, .pages = base_pages(end - begin), .traits = traits, .scanned = scanned};

    if (end > begin)
        visitor->visit(visitor->context, &run);
}

/* One call. *at becomes the address where the walk ended. -ENOTTY, -EINVAL: the kernel has no
 * PAGEMAP_SCAN, or it does not know a category. */
static int scan_some(int fd, uint64_t *at, uint64_t end, const struct visitor *visitor)
{
    struct scan_region regions[REGIONS];
    struct scan_arg arg = {
        .size = sizeof(arg),
        .start = *at,
        .end = end,
        .vec = (uint64_t)(uintptr_t)regions,
        .vec_len = REGIONS,
        .category_anyof_mask = SCAN_IS_PRESENT | SCAN_IS_SWAPPED | SCAN_IS_SOFT_DIRTY,
        .return_mask = SCAN_IS_PRESENT | SCAN_IS_SWAPPED | SCAN_IS_PFNZERO | SCAN_IS_HUGE |
                       SCAN_IS_SOFT_DIRTY,
    };
    const int n = ioctl(fd, SCAN_IOCTL, &arg);

    if (n < 0)
        return -errno;
    if (arg.walk_end <= *at)
        return -EIO;
    for (int i = 0; i < n; i++) {
        pass(visitor, *at, regions[i].start, 0, true);
        pass(visitor, regions[i].start, regions[i].end, traits_of_categories(regions[i].categories),
             true);
        *at = regions[i].end;
    }
    pass(visitor, *at, smaller(arg.walk_end, end), 0, true);
    *at = smaller(arg.walk_end, end);
    return 0;
}

static unsigned traits_of_entry(uint64_t entry)
{
    return (entry & PAGEMAP_PRESENT ? RUN_PRESENT : 0) |
           (entry & PAGEMAP_SWAPPED ? RUN_SWAPPED : 0) |
           (entry & PAGEMAP_SOFT_DIRTY ? RUN_SOFT_DIRTY : 0);
}

static int read_entries(int fd, uint64_t at, uint64_t end, const struct visitor *visitor)
{
    uint64_t entry[CHUNK_ENTRIES];

    for (uint64_t n; at < end; at += n * base_page_bytes()) {
        n = smaller(CHUNK_ENTRIES, base_pages(end - at));

        int rc = u64_file_read(fd, base_pages(at), n, entry);

        if (rc < 0)
            return rc;
        for (uint64_t first = 0, i = 1; i <= n; i++)
            if (i == n || traits_of_entry(entry[i]) != traits_of_entry(entry[first])) {
                pass(visitor, at + first * base_page_bytes(), at + i * base_page_bytes(),
                     traits_of_entry(entry[first]), false);
                first = i;
            }
    }
    return 0;
}

int pagemap_runs(int fd, uint64_t begin, uint64_t end,
                 void (*visit)(void *context, const struct page_run *run), void *context)
{
    const struct visitor visitor = {.visit = visit, .context = context};
    uint64_t at = begin;

    while (at < end) {
        int rc = scan_some(fd, &at, end, &visitor);

        if (rc == -ENOTTY || rc == -EINVAL)
            return read_entries(fd, at, end, &visitor);
        if (rc < 0)
            return rc;
    }
    return 0;
}
