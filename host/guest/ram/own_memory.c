// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/ram/own_memory.h"

#include "base/cleanup.h"
#include "guest/ram/ram_backing.h"
#include "guest/ram/smaps.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <unistd.h>

#define BATCH 4096
#define ENTRY_PRESENT (1ULL << 63) /* Documentation/admin-guide/mm/pagemap.rst */
#define ENTRY_FILE (1ULL << 61)    /* page of a file, or shared anonymous memory */
#define ENTRY_PFN(entry) ((entry) & ((1ULL << 55) - 1))

/* A mapping that reserves more is hardly used, like the shadow memory of a sanitizer. It is
 * skipped, because each of its pages costs 8 bytes of pagemap to read. */
#define VMA_MAX_BYTES (4ULL << 30)
/* The limit for all mappings together: 32 MiB to read, so that a hostile QEMU cannot ask for more.
 */
#define SUM_MAX_BYTES (16ULL << 30)

struct walk {
    const struct fsroot *root;
    pid_t pid;
    const struct guest_ram *ram;
    int pagemap_fd;
    unsigned kinds;
    uint64_t zero_pfn; /* 0: unknown */
    uint64_t checked_bytes;
    struct own_memory *own;
    /* Device of the last VMA that has a file; files of one device lie in one file system. */
    struct device_number device;
    enum page_kind file_kind;
};

/* Resident pages. */
struct count {
    uint64_t anon, file;
};

/* Finds the frame of the zero page, which maps memory that was read but never written and is in no
 * counter. An untouched page of this process maps the same frame. */
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

static void count_entry(struct count *count, uint64_t entry, uint64_t zero_pfn)
{
    if (!(entry & ENTRY_PRESENT))
        return;
    if (entry & ENTRY_FILE)
        count->file++;
    else
        count->anon += zero_pfn == 0 || ENTRY_PFN(entry) != zero_pfn;
}

static int count_pages(int pagemap_fd, uint64_t start, uint64_t end, uint64_t zero_pfn,
                       struct count *count)
{
    uint64_t entry[BATCH];

    for (uint64_t page = base_pages(start); page < base_pages(end);) {
        uint64_t n = base_pages(end) - page < BATCH ? base_pages(end) - page : BATCH;
        ssize_t got = pread(pagemap_fd, entry, n * sizeof(*entry), (off_t)(page * sizeof(*entry)));

        if (got < (ssize_t)sizeof(*entry))
            return got < 0 ? -errno : 0; /* the process has ended, or [vsyscall] */
        n = (uint64_t)got / sizeof(*entry);
        for (uint64_t i = 0; i < n; i++)
            count_entry(count, entry[i], zero_pfn);
        page += n;
    }
    return 0;
}

static enum page_kind kind_of_backing(enum ram_backing backing)
{
    switch (backing) {
    case RAM_BACKING_SHMEM:
        return PAGE_KIND_SHMEM;
    case RAM_BACKING_HUGETLB:
        return PAGE_KIND_HUGETLB;
    case RAM_BACKING_ANON:
    case RAM_BACKING_FILE:
        break;
    }
    return PAGE_KIND_FILE;
}

/* The kind of the pages that a VMA maps from its file. */
static enum page_kind find_file_kind(struct walk *walk, const struct vma *vma)
{
    if (vma->inode == 0)
        return PAGE_KIND_FILE;
    if (!device_number_equal(walk->device, vma->device))
        walk->file_kind = kind_of_backing(ram_backing_of_vma(walk->root, walk->pid, vma));
    walk->device = vma->device;
    return walk->file_kind;
}

/* The kinds of pages that the VMA can have. A shared mapping has no anonymous pages; a device's
 * pages in it look anonymous but are in no counter. */
static unsigned kinds_of(enum page_kind file_kind, const struct vma *vma)
{
    if (vma->perms[0] != 'r' && vma->perms[1] != 'w')
        return 0;
    if (file_kind == PAGE_KIND_HUGETLB)
        return PAGE_KIND_BIT(PAGE_KIND_HUGETLB);
    return (vma->perms[3] == 'p' ? PAGE_KIND_BIT(PAGE_KIND_ANON) : 0) |
           (vma->inode != 0 ? PAGE_KIND_BIT(file_kind) : 0);
}

static int count_vma(const struct vma *vma, void *context)
{
    struct walk *walk = context;
    struct own_memory *own = walk->own;
    struct count count = {0};

    if (!vma) {
        *own = (struct own_memory){0};
        walk->checked_bytes = 0;
        return 0;
    }
    if (guest_ram_overlaps(walk->ram, vma->start, vma->end))
        return 0;

    const enum page_kind file_kind = find_file_kind(walk, vma);
    const unsigned kinds = kinds_of(file_kind, vma) & walk->kinds;

    if (kinds == 0)
        return 0;
    if (vma->end - vma->start > VMA_MAX_BYTES ||
        walk->checked_bytes + (vma->end - vma->start) > SUM_MAX_BYTES) {
        own->incomplete |= kinds;
        return 0;
    }
    walk->checked_bytes += vma->end - vma->start;

    int rc = count_pages(walk->pagemap_fd, vma->start, vma->end, walk->zero_pfn, &count);

    if (kinds & PAGE_KIND_BIT(PAGE_KIND_HUGETLB)) /* private hugetlb pages are anonymous */
        own->bytes[PAGE_KIND_HUGETLB] += (count.anon + count.file) * base_page_bytes();
    if (kinds & PAGE_KIND_BIT(PAGE_KIND_ANON))
        own->bytes[PAGE_KIND_ANON] += count.anon * base_page_bytes();
    if (file_kind != PAGE_KIND_HUGETLB && (kinds & PAGE_KIND_BIT(file_kind)))
        own->bytes[file_kind] += count.file * base_page_bytes();
    return rc;
}

int own_memory_read(const struct fsroot *root, pid_t pid, const struct guest_ram *ram,
                    unsigned kinds, struct own_memory *own)
{
    cleanup_close int fd = fsroot_openf(root, O_RDONLY, "proc/%d/pagemap", (int)pid);
    struct walk walk = {
        .root = root,
        .pid = pid,
        .ram = ram,
        .pagemap_fd = fd,
        .kinds = kinds,
        .zero_pfn = kinds & PAGE_KIND_BIT(PAGE_KIND_ANON) ? find_zero_pfn(root) : 0,
        .device.major = UINT_MAX,
        .own = own,
    };

    *own = (struct own_memory){0};
    return fd < 0 ? fd : maps_walk(root, pid, count_vma, &walk, NULL);
}

int mapped_bytes_between(const struct fsroot *root, pid_t pid, uint64_t start, uint64_t end,
                         uint64_t *bytes)
{
    cleanup_close int fd = fsroot_openf(root, O_RDONLY, "proc/%d/pagemap", (int)pid);
    struct count count = {0};

    if (fd < 0)
        return fd;
    if (end - start > VMA_MAX_BYTES)
        return -E2BIG;

    int rc = count_pages(fd, start, end, 0, &count);

    if (rc == 0)
        *bytes = (count.anon + count.file) * base_page_bytes();
    return rc;
}
