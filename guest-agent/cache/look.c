// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cache/look.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/page_sizes.h"
#include "proc/hidden.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

/* Numbers of linux/magic.h, and of file systems missing there. */
#define AUFS_MAGIC 0x61756673
#define CONFIGFS_MAGIC 0x62656570

static bool among(long type, const long *types, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (types[i] == type)
            return true;
    return false;
}

/* The kernel generates the content of these files when they are read: they have no page cache, and
 * opening one may have any side effect. */
static bool is_made_by_kernel(long type)
{
    static const long types[] = {
        PROC_SUPER_MAGIC, SYSFS_MAGIC,          DEBUGFS_MAGIC,  TRACEFS_MAGIC,
        SECURITYFS_MAGIC, CGROUP_SUPER_MAGIC,   BPF_FS_MAGIC,   CGROUP2_SUPER_MAGIC,
        EFIVARFS_MAGIC,   PSTOREFS_MAGIC,       SELINUX_MAGIC,  SMACK_MAGIC,
        BINFMTFS_MAGIC,   RDTGROUP_SUPER_MAGIC, CONFIGFS_MAGIC, NSFS_MAGIC,
    };

    return among(type, types, COUNT(types));
}

/* The pages may belong to a file below, of which cachestat knows nothing: it reports 0 for a cached
 * file of overlayfs. */
static bool is_stacked(long type)
{
    static const long types[] = {OVERLAYFS_SUPER_MAGIC, FUSE_SUPER_MAGIC, AUFS_MAGIC};

    return among(type, types, COUNT(types));
}

static const char *why_not(int rc)
{
    switch (rc) {
    case -EPERM:
        return "not permitted: the kernel tells only who may write the file";
    case -ENODEV:
        return "its file system maps no files";
    case -ENOSYS:
        return "this kernel has no cachestat (Linux 6.5)";
    case -EINTR:
        return "interrupted while it was looked at";
    case -EOPNOTSUPP:
        return "not known of this file system";
    default:
        return strerror(-rc);
    }
}

static void set_unknown(struct cache_file *file, const char *reason)
{
    file->count = CACHE_COUNT_UNKNOWN;
    file->method = "";
    file->unknown = reason;
    free(file->part);
    file->part = NULL;
}

/* Returns the first method that works, with its count; NULL with the last method's *rc. */
static const struct cache_method *count_by_any(const struct cache_method *asked,
                                               const struct cache_target *target, bool stacked,
                                               struct cache_count *count, int *rc)
{
    const struct cache_method *const automatic[] = {&cache_cachestat, &cache_mincore};
    const struct cache_method *const only[] = {asked};
    const struct cache_method *const *method = asked ? only : automatic;

    for (size_t i = 0; i < (asked ? 1 : 2); i++) {
        *rc = cache_count_file(method[i], target, count);
        if (*rc == 0 && method[i] == &cache_cachestat && stacked && count->cached == 0)
            *rc = -EOPNOTSUPP;
        if (*rc == 0)
            return method[i];
    }
    return NULL;
}

/* Finds the parts and the runs, if they were requested. */
static int count_places(const struct cache_question *question, const struct cache_method *method,
                        const struct cache_target *target, struct cache_file *file)
{
    int rc = 0;

    if (question->parts > 0) {
        file->part = calloc(question->parts, sizeof(*file->part));
        if (!file->part)
            return -ENOMEM;
        rc = cache_parts_count(method, target, file->part, question->parts);
    }
    if (rc == 0 && question->runs)
        rc = cache_runs_find(method, target, &file->runs);
    return rc;
}

static void count_open(const struct cache_question *question, int fd, long type,
                       struct cache_file *file)
{
    const struct cache_target target = {fd, file->pages, question->patience};
    int rc = 0;
    const struct cache_method *method = count_by_any(question->method, &target, is_stacked(type),
                                                     &file->count, &rc);

    if (method)
        rc = count_places(question, method, &target, file);
    if (rc < 0)
        set_unknown(file, why_not(rc));
    else
        file->method = method->name;
}

/* Opens a file that O_PATH has shown to be a regular one, so that nothing else is ever opened. */
static int reopen(const struct fsroot *root, int path_fd)
{
    int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
    int fd = fsroot_openf(root, flags | O_NOATIME, "proc/self/fd/%d", path_fd);

    return fd == -EPERM ? fsroot_openf(root, flags, "proc/self/fd/%d", path_fd) : fd;
}

static void set_size(struct cache_file *file, uint64_t size_bytes)
{
    file->size_bytes = size_bytes;
    file->pages = (file->size_bytes + base_page_bytes() - 1) / base_page_bytes();
}

/* Blocks behind the end of the file (fallocate with FALLOC_FL_KEEP_SIZE) are pages on tmpfs. */
static bool is_worth_counting(const struct cache_file *file, const struct stat *stat)
{
    return file->pages > 0 || stat->st_blocks > 0 || S_ISBLK(stat->st_mode);
}

/* A huge page of hugetlbfs belongs to its file from the first touch, and is counted in its blocks:
 * hugetlb.c, hugetlb_add_to_page_cache(). Mapping such a file would reserve huge pages. */
static void count_hugetlb(const struct stat *stat, struct cache_file *file)
{
    file->count = CACHE_COUNT_UNKNOWN;
    file->count.cached = (uint64_t)stat->st_blocks * 512 / base_page_bytes();
    file->count.beyond_eof = 0;
    file->method = "blocks";
}

/* A device's size from sysfs, which is readable without opening the device; 0 without sysfs. */
static uint64_t size_by_sysfs(const struct fsroot *root, const struct stat *stat)
{
    uint64_t sectors = 0;

    fsroot_read_u64(root, &sectors, "sys/dev/block/%u:%u/size", major(stat->st_rdev),
                    minor(stat->st_rdev));
    return sectors * 512;
}

static int size_of(int fd, const struct stat *stat, uint64_t *bytes)
{
    *bytes = (uint64_t)stat->st_size;
    return S_ISBLK(stat->st_mode) ? ioctl(fd, BLKGETSIZE64, bytes) : 0;
}

static void count_regular(const struct cache_question *question, int path_fd, long type,
                          struct cache_file *file)
{
    struct stat stat;
    cleanup_close int fd = reopen(question->root, path_fd);

    uint64_t size_bytes = 0;

    if (fd < 0 || fstat(fd, &stat) < 0 || size_of(fd, &stat, &size_bytes) < 0) {
        const char *missing = fd == -ENOENT ? proc_file_missing(question->root) : NULL;

        set_unknown(file, missing ? missing : strerror(fd < 0 ? -fd : errno));
        return;
    }
    set_size(file, size_bytes); /* it may have changed since */
    if (is_worth_counting(file, &stat))
        count_open(question, fd, type, file);
}

int cache_look(const struct cache_question *question, int path_fd, const struct stat *stat,
               const char *name, struct cache_file *file)
{
    struct statfs fs;

    *file = (struct cache_file){.name = strdup(name), .method = ""};
    if (!file->name)
        return -ENOMEM;
    set_size(file, S_ISBLK(stat->st_mode) ? size_by_sysfs(question->root, stat)
                                          : (uint64_t)stat->st_size);
    if (!is_worth_counting(file, stat))
        return 0;
    if (fstatfs(path_fd, &fs) < 0)
        set_unknown(file, strerror(errno));
    else if (is_made_by_kernel((long)fs.f_type))
        file->size_bytes = file->pages = 0; /* the file is generated, so its size means nothing */
    else if (fs.f_type == HUGETLBFS_MAGIC)
        count_hugetlb(stat, file);
    else
        count_regular(question, path_fd, (long)fs.f_type, file);
    return 0;
}

bool cache_places_known(const struct cache_file *file)
{
    return !file->unknown && (file->runs.n > 0 || cache_within_eof(&file->count) == 0);
}

void cache_file_free(struct cache_file *file)
{
    free(file->name);
    free(file->part);
    free(file->runs.run);
}
