// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file own_memory.c  See own_memory.h. */
#include "guest_ram/own_memory.h"

#include "base/cleanup.h"
#include "guest_ram/smaps.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define BATCH 4096
#define ENTRY_PRESENT (1ULL << 63) /* Documentation/admin-guide/mm/pagemap.rst */
#define ENTRY_FILE (1ULL << 61)    /* of a file, or shared anonymous */
#define ENTRY_PFN(entry) ((entry) & ((1ULL << 55) - 1))

/* What reserves more is hardly used, like the shadow memory of a sanitizer: 8 bytes are read for
 * each of its pages. */
#define VMA_MAX_BYTES (4ULL << 30)
#define SUM_MAX_BYTES \
    (16ULL << 30) /* nor are many: 32 MiB to read, which a hostile QEMU can ask for */

struct count {
    const struct guest_ram *ram;
    int pagemap_fd;
    bool files;
    uint64_t zero_pfn; /* 0: unknown */
    uint64_t checked_bytes;
    uint64_t pages;
};

static bool is_ram(const struct guest_ram *ram, const struct vma *vma)
{
    for (size_t i = 0; i < ram->n_blocks; i++)
        if (vma->start < ram->blocks[i].hva + ram->blocks[i].bytes && vma->end > ram->blocks[i].hva)
            return true;
    return false;
}

static bool may_have_pages(const struct vma *vma)
{
    return vma->perms[3] == 'p' && (vma->perms[0] == 'r' || vma->perms[1] == 'w') &&
           vma->end - vma->start <= VMA_MAX_BYTES;
}

/* Memory that was read, but never written, is the zero page, which is in no counter. One of our own
 * is the same. */
static uint64_t find_zero_pfn(const struct fsroot *root)
{
    const size_t size = base_page_bytes();
    cleanup_close int fd = root->live ? fsroot_openf(root, O_RDONLY, "proc/self/pagemap") : -1;
    volatile char *page = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t entry = 0;

    if (page == MAP_FAILED)
        return 0;
    if (fd >= 0 && page[0] == 0 &&
        pread(fd, &entry, sizeof(entry), (off_t)((uintptr_t)page / size * sizeof(entry))) !=
            sizeof(entry))
        entry = 0;
    munmap((void *)page, size);
    return ENTRY_PFN(entry);
}

static bool counts(const struct count *count, uint64_t entry)
{
    return (entry & ENTRY_PRESENT) && (count->files || !(entry & ENTRY_FILE)) &&
           (count->zero_pfn == 0 || ENTRY_PFN(entry) != count->zero_pfn);
}

static int count_vma(const struct vma *vma, void *context)
{
    struct count *count = context;
    uint64_t entry[BATCH];
    uint64_t end = base_pages(vma->end);

    if (is_ram(count->ram, vma) || !may_have_pages(vma))
        return 0;
    count->checked_bytes += vma->end - vma->start;
    if (count->checked_bytes > SUM_MAX_BYTES)
        return -E2BIG;
    for (uint64_t page = base_pages(vma->start); page < end;) {
        uint64_t n = end - page < BATCH ? end - page : BATCH;
        ssize_t got = pread(count->pagemap_fd, entry, n * sizeof(*entry),
                            (off_t)(page * sizeof(*entry)));

        if (got < (ssize_t)sizeof(*entry))
            return got < 0 ? -errno : 0; /* the process has ended, or [vsyscall] */
        n = (uint64_t)got / sizeof(*entry);
        for (uint64_t i = 0; i < n; i++)
            count->pages += counts(count, entry[i]);
        page += n;
    }
    return 0;
}

int own_memory_read(const struct fsroot *root, pid_t pid, const struct guest_ram *ram, bool files,
                    uint64_t *bytes)
{
    cleanup_close int fd = fsroot_openf(root, O_RDONLY, "proc/%d/pagemap", (int)pid);
    struct count count = {
        .ram = ram, .pagemap_fd = fd, .files = files, .zero_pfn = find_zero_pfn(root)};
    int rc = fd < 0 ? fd : maps_walk(root, pid, count_vma, &count, NULL);

    if (rc == 0)
        *bytes = count.pages * base_page_bytes();
    return rc;
}
