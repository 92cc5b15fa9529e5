// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/pagemap.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "measure/kernel/pagemap_scan.h"
#include "measure/kernel/u64_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>

#define GATHER_MAX 4096
/* A system call costs as much as reading 70 entries (1.2 us and 17 ns, by perf). */
#define BRIDGE 64

/* With PAGEMAP_SCAN an entry costs 10 ns and a call 0.9 us (Linux 6.18; read() takes 24 ns and 1
 * us), because it does not examine the page's frame. */
#define SCAN_BRIDGE 80
#define SCAN_REGIONS 256

int pagemap_open(const struct target *target, struct error *error)
{
    pid_t pid = target->process->pid;
    int fd = fsroot_openf(target->root, O_RDONLY, "proc/%d/pagemap", pid);

    if (fd < 0)
        return error_set(error, fd == -ENOENT ? -ESRCH : fd, "/proc/%d/pagemap: %s", pid,
                         strerror(-fd));
    return fd;
}

static bool in_block(const struct ram_block *block, uint64_t page)
{
    return page >= block->first_page && page - block->first_page < base_pages(block->bytes);
}

int pagemap_read(int fd, const struct guest_ram *ram, const uint64_t *page, uint64_t n,
                 uint64_t *entries)
{
    const struct ram_block *block =
        ram->blocks; /* block of the previous page, and nearly always of the next */
    uint64_t index[GATHER_MAX];

    for (uint64_t done = 0; done < n;) {
        uint64_t chunk = n - done < GATHER_MAX ? n - done : GATHER_MAX;

        for (uint64_t i = 0; i < chunk; i++) {
            if (!in_block(block, page[done + i]))
                block = guest_ram_block(ram, page[done + i]);
            index[i] = base_pages(block->hva) + page[done + i] - block->first_page;
        }

        int rc = u64_file_gather(fd, index, chunk, BRIDGE, entries + done);

        if (rc < 0)
            return rc;
        done += chunk;
    }
    return 0;
}

/* Walks the page table once. The walk ends early if regions[] is full. Returns 1 if the kernel has
 * no PAGEMAP_SCAN. */
static int scan_present(int fd, uint64_t begin, uint64_t end, struct scan_region *regions,
                        uint64_t *n, uint64_t *walked)
{
    struct scan_arg arg = {
        .size = sizeof(arg),
        .start = begin,
        .end = end,
        .vec = (uint64_t)(uintptr_t)regions,
        .vec_len = SCAN_REGIONS,
        .category_mask = SCAN_IS_PRESENT,
        .return_mask = SCAN_IS_PRESENT,
    };
    int found = ioctl(fd, SCAN_IOCTL, &arg);

    if (found < 0)
        return errno == ENOTTY ? 1 : -errno;
    *n = (uint64_t)found;
    *walked = arg.walk_end;
    return arg.walk_end > begin ? 0 : -EIO;
}

/* Finds which of the pages hva[0..n) are present; they are ascending and close together. */
static int find_present(int fd, const uint64_t *hva, uint64_t n, bool *present)
{
    const uint64_t end = hva[n - 1] + base_page_bytes();
    struct scan_region regions[SCAN_REGIONS];
    uint64_t n_regions = 0;
    uint64_t walked = 0;

    for (uint64_t at = 0; at < n;) {
        int rc = scan_present(fd, hva[at], end, regions, &n_regions, &walked);

        if (rc != 0)
            return rc;
        for (uint64_t r = 0; at < n && hva[at] < walked; at++) {
            while (r < n_regions && regions[r].end <= hva[at])
                r++;
            present[at] = r < n_regions && regions[r].start <= hva[at];
        }
    }
    return 0;
}

/* The number of pages, beginning with @p hva, that one walk covers. */
static uint64_t walk_length(const uint64_t *hva, uint64_t n)
{
    uint64_t i = 1;

    while (i < n && hva[i] > hva[i - 1] && hva[i] - hva[i - 1] <= SCAN_BRIDGE * base_page_bytes())
        i++;
    return i;
}

static int present_by_entries(int fd, const struct guest_ram *ram, const uint64_t *page, uint64_t n,
                              bool *present)
{
    cleanup_free uint64_t *entry = calloc(n + 1, sizeof(*entry));
    int rc = entry ? pagemap_read(fd, ram, page, n, entry) : -ENOMEM;

    for (uint64_t i = 0; rc == 0 && i < n; i++)
        present[i] = entry[i] & PAGEMAP_PRESENT;
    return rc;
}

int pagemap_present(int fd, const struct guest_ram *ram, const uint64_t *page, uint64_t n,
                    bool *present)
{
    cleanup_free uint64_t *hva = calloc(n + 1, sizeof(*hva));

    if (!hva)
        return -ENOMEM;
    for (uint64_t i = 0; i < n; i++)
        hva[i] = guest_ram_hva(ram, page[i]);
    for (uint64_t i = 0; i < n;) {
        uint64_t length = walk_length(hva + i, n - i);
        int rc = find_present(fd, hva + i, length, present + i);

        if (rc != 0)
            return rc < 0 ? rc : present_by_entries(fd, ram, page, n, present);
        i += length;
    }
    return 0;
}

int pagemap_read_range(int fd, const struct guest_ram *ram, uint64_t first, uint64_t n,
                       uint64_t *entries)
{
    int rc = 0;

    for (uint64_t done = 0; rc == 0 && done < n;) {
        const struct ram_block *block = guest_ram_block(ram, first + done);
        uint64_t at = first + done - block->first_page;
        uint64_t chunk = smaller(n - done, base_pages(block->bytes) - at);

        rc = u64_file_read(fd, base_pages(block->hva) + at, chunk, entries + done);
        done += chunk;
    }
    return rc;
}

int pagemap_invalidate(int fd, uint64_t hva, uint64_t bytes)
{
    struct scan_arg arg = {
        .size = sizeof(arg),
        .flags = SCAN_WP_MATCHING,
        .start = hva,
        .end = hva + bytes,
        .category_mask = SCAN_IS_PFNZERO | SCAN_IS_SWAPPED,
    };

    return ioctl(fd, SCAN_IOCTL, &arg) < 0 ? -errno : 0;
}

int pagemap_check_scan(int fd, uint64_t hva, struct error *why)
{
    int rc = fd < 0 ? fd : pagemap_invalidate(fd, hva, 0);

    if (rc == -ENOTTY)
        return error_set(why, rc, "the kernel has no PAGEMAP_SCAN; it needs Linux 6.7");
    return rc < 0 ? error_set(why, rc, "PAGEMAP_SCAN: %s", strerror(-rc)) : 0;
}

int pagemap_mapping(int fd, uint64_t hva, struct page_mapping *out)
{
    struct scan_region region;
    struct scan_arg arg = {
        .size = sizeof(arg),
        .start = hva,
        .end = hva + base_page_bytes(),
        .vec = (uint64_t)(uintptr_t)&region,
        .vec_len = 1,
        .category_mask = SCAN_IS_PRESENT,
        .return_mask = SCAN_IS_HUGE | SCAN_IS_PFNZERO,
    };
    int n = ioctl(fd, SCAN_IOCTL, &arg);

    if (n < 0)
        return -errno;
    out->huge = n > 0 && (region.categories & SCAN_IS_HUGE);
    out->zero = n > 0 && (region.categories & SCAN_IS_PFNZERO);
    return 0;
}
