// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file ram_backing.c  See ram_backing.h.
 *
 * smaps alone cannot tell a tmpfs file from one on disk: both have an inode, and a device major of
 * 0 is also that of btrfs, overlayfs and 9p. /proc/PID/map_files/START-END leads to the file
 * itself, even if it was deleted (needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE). Without that
 * capability the path decides.
 */
#include "guest/ram/ram_backing.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static enum ram_backing backing_of_path(const char *path)
{
    /* The last two are tmpfs on every systemd machine. */
    static const char *const shmem[] = {"/memfd:", "/dev/zero", "/SYSV", "/dev/shm/", "/run/"};

    for (size_t i = 0; i < COUNT(shmem); i++)
        if (begins(path, shmem[i]))
            return RAM_BACKING_SHMEM;
    return RAM_BACKING_FILE;
}

/* Opens the file behind a VMA with O_PATH, without reading it; -1 if there is no file, or if this
 * process may not see it. */
static int open_mapped(const struct fsroot *root, pid_t pid, uint64_t start, uint64_t end)
{
    if (!root->live)
        return -1;
    return fsroot_openf(root, O_PATH, "proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, start,
                        end);
}

/* A private mapping of a tmpfs file (memory-backend-file,share=off) counts as SHMEM, although every
 * page that the guest has written is an anonymous copy; block->shared tells the two apart. A
 * private mapping of a disk file counts as FILE in the same way. */
static enum ram_backing backing_of_file(int fd, const char *path)
{
    struct statfs fs;

    if (fd < 0 || fstatfs(fd, &fs) < 0)
        return backing_of_path(path);
    if (fs.f_type == HUGETLBFS_MAGIC)
        return RAM_BACKING_HUGETLB;
    return fs.f_type == TMPFS_MAGIC ? RAM_BACKING_SHMEM : RAM_BACKING_FILE;
}

enum ram_backing ram_backing_of_vma(const struct fsroot *root, pid_t pid, const struct vma *vma)
{
    cleanup_close int fd = open_mapped(root, pid, vma->start, vma->end);

    return backing_of_file(fd, vma->path);
}

uint64_t ram_backing_held(int fd, const struct ram_block *block)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return 0;

    uint64_t held = (uint64_t)st.st_blocks * 512;

    held = held > block->swapped_bytes ? held - block->swapped_bytes : 0;
    return held < block->bytes ? held : block->bytes;
}

static void count_whole_file(int fd, struct ram_block *block)
{
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || block->file_offset != 0 ||
        (uint64_t)st.st_size != block->bytes)
        return;
    block->whole_file = true;
    block->resident_bytes = ram_backing_held(fd, block);
}

int ram_backing_open(const struct fsroot *root, pid_t pid, const struct ram_block *block)
{
    return open_mapped(root, pid, block->hva, block->hva + block->first_vma_bytes);
}

void ram_backing_find(const struct fsroot *root, pid_t pid, const struct vma *first,
                      struct ram_block *block)
{
    if (first->hugetlb) {
        block->backing = RAM_BACKING_HUGETLB;
        return;
    }
    if (first->inode == 0 && !block->shared) {
        block->backing = RAM_BACKING_ANON;
        return;
    }

    cleanup_close int fd = open_mapped(root, pid, first->start, first->end);

    block->first_vma_bytes = first->end - first->start;
    block->backing = backing_of_file(fd, first->path);
    if (block->backing == RAM_BACKING_SHMEM && block->shared)
        count_whole_file(fd, block);
}

/* --- swap ------------------------------------------------------------------------------------- */

#ifndef SYS_cachestat
#define SYS_cachestat 451 /* the same on every architecture: include/uapi/asm-generic/unistd.h */
#endif

/* struct cachestat_range and struct cachestat of include/uapi/linux/mman.h, which older headers do
 * not have. */
struct range {
    uint64_t offset, length;
};

struct cached {
    uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

bool ram_backing_is_swapped(const struct fsroot *root, pid_t pid, const struct ram_block *block)
{
    cleanup_close int fd = root->live
                               ? fsroot_openf(root, O_RDONLY,
                                              "proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid,
                                              block->hva, block->hva + block->first_vma_bytes)
                               : -1;
    const struct range range = {block->file_offset, block->bytes};
    struct cached cached;

    return fd >= 0 && syscall(SYS_cachestat, fd, &range, &cached, 0U) == 0 && cached.evicted > 0;
}
