// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file backing_file.c  See backing_file.h. */
#include "sample/kernel/backing_file.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

/* The names in map_files are exact ranges; a block may consist of several VMAs, of which the first that
 * begins with the block will do. */
static int find_link(const struct target *target, uint64_t hva, char *name, size_t size)
{
    int fd = fsroot_openf(target->root, O_RDONLY | O_DIRECTORY, "proc/%d/map_files",
                          target->process->pid);

    if (fd < 0)
        return fd;

    cleanup_dir DIR *dir = fdopendir(fd);
    struct dirent *entry;
    char prefix[32];

    if (!dir) {
        close(fd);
        return -ENOMEM;
    }
    snprintf(prefix, sizeof(prefix), "%" PRIx64 "-", hva);
    while ((entry = readdir(dir)))
        if (!strncmp(entry->d_name, prefix, strlen(prefix))) {
            snprintf(name, size, "%s", entry->d_name);
            return 0;
        }
    return -ENOENT;
}

int backing_file_open(const struct target *target, const struct ram_block *block,
                      struct error *error)
{
    char name[64];
    int rc = find_link(target, block->hva, name, sizeof(name));

    if (rc == 0)
        rc = fsroot_openf(target->root, O_RDONLY, "proc/%d/map_files/%s", target->process->pid,
                          name);
    if (rc < 0)
        return error_set(error, rc,
                         "/proc/%d/map_files: the file behind guest RAM at 0x%" PRIx64
                         " cannot be opened: %s",
                         target->process->pid, block->hva, strerror(-rc));
    return rc;
}

int backing_file_holds(int fd, uint64_t offset)
{
    off_t data = lseek(fd, (off_t)offset, SEEK_DATA);

    if (data < 0)
        return errno == ENXIO ? 0 : -errno;
    return (uint64_t)data == offset;
}
