// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file ram_backing.c  See ram_backing.h.
 *
 * smaps alone cannot tell a tmpfs file from one on disk: both have an inode, and a device major of
 * 0 is also that of btrfs, overlayfs and 9p. /proc/PID/map_files/START-END leads to the file
 * itself, even if it was deleted (needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE). Without it the
 * path decides.
 */
#include "guest_ram/ram_backing.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static enum ram_backing backing_of_path(const char *path)
{
    /* The last two are tmpfs on every systemd machine. */
    static const char *const shmem[] = {"/memfd:", "/dev/zero", "/SYSV", "/dev/shm/", "/run/"};

    for (size_t i = 0; i < sizeof(shmem) / sizeof(shmem[0]); i++)
        if (begins(path, shmem[i]))
            return RAM_BACKING_SHMEM;
    return RAM_BACKING_FILE;
}

/* The file behind a VMA; -1 when there is none or we may not see it. O_PATH: nothing is read. */
static int open_mapped(const struct fsroot *root, pid_t pid, const struct vma *vma)
{
    if (!root->live)
        return -1;
    return fsroot_openf(root, O_PATH, "proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid,
                        vma->start, vma->end);
}

/* A private mapping of a tmpfs file (memory-backend-file,share=off) counts as SHMEM, although every
 * page that the guest has written is an anonymous copy; block->shared tells the two apart. A
 * private mapping of a disk file counts as FILE likewise. */
static enum ram_backing backing_of_file(int fd, const char *path)
{
    struct statfs fs;

    if (fd < 0 || fstatfs(fd, &fs) < 0)
        return backing_of_path(path);
    if (fs.f_type == HUGETLBFS_MAGIC)
        return RAM_BACKING_HUGETLB;
    return fs.f_type == TMPFS_MAGIC ? RAM_BACKING_SHMEM : RAM_BACKING_FILE;
}

/* What a shmem file holds in memory: i_blocks counts its pages in memory and in swap alike
 * (mm/shmem.c). */
static void count_whole_file(int fd, struct ram_block *block)
{
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || block->file_offset != 0 ||
        (uint64_t)st.st_size != block->bytes)
        return;

    uint64_t held = (uint64_t)st.st_blocks * 512;

    held = held > block->swapped_bytes ? held - block->swapped_bytes : 0;
    block->resident_bytes = held < block->bytes ? held : block->bytes;
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

    cleanup_close int fd = open_mapped(root, pid, first);

    block->backing = backing_of_file(fd, first->path);
    if (block->backing == RAM_BACKING_SHMEM && block->shared)
        count_whole_file(fd, block);
}
