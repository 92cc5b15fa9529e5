// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/backing_file.h"

#include "base/cleanup.h"
#include "base/open_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

/* The names in map_files are exact ranges of VMAs. If a block consists of several VMAs, its first
 * one is enough. */
static int find_link(const struct target *target, uint64_t hva, char *name, size_t size)
{
    cleanup_dir DIR *dir = NULL;
    struct dirent *entry;
    char prefix[32];
    int rc = fsroot_opendir(target->root, &dir, "proc/%d/map_files", target->process->pid);

    if (rc < 0)
        return rc;
    snprintf(prefix, sizeof(prefix), "%" PRIx64 "-", hva);
    while ((entry = readdir(dir)))
        if (!strncmp(entry->d_name, prefix, strlen(prefix))) {
            snprintf(name, size, "%s", entry->d_name);
            return 0;
        }
    return -ENOENT;
}

/* Tries the name with which the block was located first, because listing the several hundred links
 * of a QEMU takes half a millisecond. The block's first VMA may have been split or merged since. */
static int open_link(const struct target *target, const struct ram_block *block)
{
    char name[64];

    snprintf(name, sizeof(name), "%" PRIx64 "-%" PRIx64, block->hva,
             block->hva + block->first_vma_bytes);

    int fd = fsroot_openf(target->root, O_RDONLY, "proc/%d/map_files/%s", target->process->pid,
                          name);

    if (fd != -ENOENT)
        return fd;

    int rc = find_link(target, block->hva, name, sizeof(name));

    return rc < 0 ? rc
                  : fsroot_openf(target->root, O_RDONLY, "proc/%d/map_files/%s",
                                 target->process->pid, name);
}

int backing_file_open(const struct target *target, const struct ram_block *block,
                      struct error *error)
{
    int fd = open_link(target, block);

    if (fd < 0)
        return error_set(error, fd,
                         "/proc/%d/map_files: the file behind guest RAM at 0x%" PRIx64
                         " cannot be opened: %s",
                         target->process->pid, block->hva, strerror(-fd));
    return fd;
}

bool file_walk_holds(struct file_walk *walk, int fd, uint64_t offset)
{
    if (walk->fd == fd && offset >= walk->from && offset < walk->end)
        return offset >= walk->next;

    off_t data = lseek(fd, (off_t)offset, SEEK_DATA);
    off_t end = data >= 0 && walk->whole ? lseek(fd, data, SEEK_HOLE) : data;

    if (data < 0 && errno != ENXIO)
        return false;
    walk->fd = fd;
    walk->from = offset;
    walk->next = data < 0 ? UINT64_MAX : (uint64_t)data;
    walk->end = end < 0 ? UINT64_MAX : (uint64_t)end;
    return walk->next == offset;
}
