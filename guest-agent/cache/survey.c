// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file survey.c  Files and directories. See survey.h. */
#include "cache/survey.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <linux/magic.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

struct identity {
    dev_t device;
    ino_t inode;
};

static int compare_identities(const void *a, const void *b)
{
    const struct identity *x = a;
    const struct identity *y = b;

    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return (x->inode > y->inode) - (x->inode < y->inode);
}

/* Adds a file or directory by its device and inode, so that it counts once even if several paths
 * lead to it. Returns 1 if it is new, 0 if it was known, -ENOMEM. */
static int add_seen(struct survey *survey, dev_t device, ino_t inode)
{
    struct identity *identity = malloc(sizeof(*identity));

    if (!identity)
        return -ENOMEM;
    *identity = (struct identity){device, inode};

    void *node = tsearch(identity, &survey->seen, compare_identities);

    if (!node) {
        free(identity);
        return -ENOMEM;
    }
    if (*(struct identity **)node == identity)
        return 1;
    free(identity);
    return 0;
}

/* A directory that is being read, or one of its entries. */
struct level {
    const char *name;
    dev_t device;  /* device of the named directory */
    int parent_fd; /* the directory with the entry; -1: the path was named by the user */
    int depth;
};

void survey_fault(struct survey *survey, const char *name, const char *why)
{
    survey->n_faults++;
    survey->fault(name, why);
}

/* Frees files that will not be shown; they remain in the total. */
static void drop_from(struct survey *survey, size_t first)
{
    for (size_t i = first; i < survey->n; i++)
        cache_file_free(&survey->file[i]);
    survey->n = first < survey->n ? first : survey->n;
}

static void keep_the_first(struct survey *survey)
{
    cache_sort(survey->file, survey->n, survey->order);
    drop_from(survey, survey->at_most);
}

static bool is_cached(const struct cache_file *file)
{
    return !file->unknown && file->count.cached > 0;
}

/* Matches the last part of the name, or the whole name. */
static bool is_ignored(const struct survey *survey, const char *name)
{
    const char *slash = strrchr(name, '/');

    for (const char *const *ignore = survey->ignore; ignore && *ignore; ignore++)
        if (fnmatch(*ignore, name, 0) == 0 || (slash && fnmatch(*ignore, slash + 1, 0) == 0))
            return true;
    return false;
}

static int add_file(struct survey *survey, int path_fd, const struct stat *stat, const char *name)
{
    struct cache_file *grown = array_grow(survey->file, survey->n, sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    survey->file = grown;

    int rc = cache_look(&survey->question, path_fd, stat, name, &survey->file[survey->n]);

    if (rc < 0)
        return rc;
    cache_total_add(&survey->total, &survey->file[survey->n]);
    if (survey->cached_only && !is_cached(&survey->file[survey->n])) {
        cache_file_free(&survey->file[survey->n]);
        return 0;
    }
    survey->n++;
    survey->n_wanted++;
    if (survey->at_most > 0 && survey->n >= 2 * survey->at_most)
        keep_the_first(survey);
    return 0;
}

int survey_add(struct survey *survey, int path_fd, const struct stat *stat, const char *name)
{
    if (!S_ISREG(stat->st_mode) || is_ignored(survey, name))
        return 0;
    if (!cache_goes_on(survey->question.patience, 0))
        return -EINTR;

    int rc = add_seen(survey, stat->st_dev, stat->st_ino);

    return rc > 0 ? add_file(survey, path_fd, stat, name) : rc;
}

/* Opens the directory through @p path_fd, because its name may now lead elsewhere. */
static DIR *open_directory(int path_fd)
{
    int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    int fd = openat(path_fd, ".", flags | O_NOATIME);

    if (fd < 0 && errno == EPERM)
        fd = openat(path_fd, ".", flags);

    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

    if (!dir && fd >= 0)
        close(fd);
    return dir;
}

/* The ID of the file's mount; UINT64_MAX before Linux 5.8. */
static uint64_t mount_of(int fd)
{
    struct statx statx_of;

    return statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &statx_of) == 0 &&
                   (statx_of.stx_mask & STATX_MNT_ID)
               ? statx_of.stx_mnt_id
               : UINT64_MAX;
}

/* A subvolume of btrfs has its own device, but is part of its parent's mount. Like du -x, this also
 * enters mounts from the device of the named directory. */
static bool is_mounted_elsewhere(int path_fd, const struct stat *stat, const struct level *level)
{
    uint64_t mount = stat->st_dev == level->device ? 0 : mount_of(path_fd);

    return stat->st_dev != level->device &&
           (mount == UINT64_MAX || mount != mount_of(level->parent_fd));
}

static int survey_below(struct survey *survey, int path_fd, const struct level *level);

/* Visits a file or directory that was found or named. Anything else costs only reading its
 * inode. */
static int visit_path(struct survey *survey, int path_fd, const struct stat *stat,
                      const struct level *level)
{
    if (!S_ISDIR(stat->st_mode))
        return survey_add(survey, path_fd, stat, level->name);
    if (is_ignored(survey, level->name))
        return 0;
    if (!survey->all_file_systems && is_mounted_elsewhere(path_fd, stat, level)) {
        survey->total.not_entered++;
        return 0;
    }
    if (level->depth >= SURVEY_DEPTH_MAX) {
        survey_fault(survey, level->name, "too deep; name it to have it looked at");
        return 0;
    }

    if (!cache_goes_on(survey->question.patience, 0))
        return -EINTR;

    int rc = add_seen(survey, stat->st_dev, stat->st_ino);

    return rc > 0 ? survey_below(survey, path_fd, level) : rc;
}

static int visit_entry(struct survey *survey, int dir_fd, const char *entry,
                       const struct level *level)
{
    struct stat stat;
    cleanup_free char *name = NULL;
    cleanup_close int fd = openat(dir_fd, entry, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    bool found = fd >= 0 && fstat(fd, &stat) == 0;
    int reason = errno;

    if (!found && reason == ENOENT)
        return 0; /* it was removed meanwhile */
    if (asprintf(&name, "%s%s%s", level->name,
                 level->name[strlen(level->name) - 1] == '/' ? "" : "/", entry) < 0)
        return -ENOMEM;
    if (found)
        return visit_path(survey, fd, &stat,
                          &(struct level){name, level->device, dir_fd, level->depth + 1});
    survey_fault(survey, name, strerror(reason));
    return 0;
}

/* A link of procfs leads to the file itself, like a descriptor. Directories such as /proc/PID/root
 * are not entered through it. */
static int visit_kernel_link(struct survey *survey, int dir_fd, const char *entry)
{
    struct stat stat;
    char name[PATH_MAX];
    cleanup_close int fd = openat(dir_fd, entry, O_PATH | O_CLOEXEC);
    ssize_t length = fd >= 0 ? readlinkat(dir_fd, entry, name, sizeof(name) - 1) : -1;

    if (length < 0 || fstat(fd, &stat) < 0)
        return 0; /* it was removed meanwhile, or may not be read */
    name[length] = '\0';
    return survey_add(survey, fd, &stat, name);
}

/* Numbers of a directory's entries, for the remedy if it has only links. */
struct entries {
    bool of_kernel; /* a link of procfs */
    size_t links, others;
};

static int visit_any(struct survey *survey, int dir_fd, const struct dirent *entry,
                     const struct level *level, struct entries *entries)
{
    switch (entry->d_type) {
    case DT_REG:
    case DT_DIR:
    case DT_UNKNOWN:
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            return 0;
        entries->others++;
        return visit_entry(survey, dir_fd, entry->d_name, level);
    case DT_LNK:
        entries->links++;
        if (entries->of_kernel && survey->follow)
            return visit_kernel_link(survey, dir_fd, entry->d_name);
        return 0;
    default:
        return 0;
    }
}

static bool is_of_kernel(int fd)
{
    struct statfs fs;

    return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* A plain "total of 0" for /proc/PID/fd would be true but not helpful. */
static void remedy_links(struct survey *survey, const struct level *level,
                         const struct entries *entries)
{
    if (entries->of_kernel && !survey->follow && level->depth == 0 && entries->links > 0 &&
        entries->others == 0)
        survey_fault(survey, level->name, "its links lead to files; add --follow");
}

static int survey_below(struct survey *survey, int path_fd, const struct level *level)
{
    cleanup_dir DIR *dir = open_directory(path_fd);
    struct entries entries = {.of_kernel = is_of_kernel(path_fd)};
    int rc = 0;

    if (!dir) {
        survey_fault(survey, level->name, strerror(errno));
        return 0;
    }
    for (;;) {
        errno = 0;

        const struct dirent *entry = readdir(dir);

        if (!entry && errno != 0)
            survey_fault(survey, level->name, strerror(errno));
        if (!entry)
            break;
        rc = visit_any(survey, dirfd(dir), entry, level, &entries);
        if (rc < 0)
            return rc;
    }
    remedy_links(survey, level, &entries);
    return 0;
}

/* Adds a device only if it was named, because opening a device may have side effects. A device has
 * many names, each with its own inode. */
static int add_device(struct survey *survey, int path_fd, const struct stat *stat, const char *name)
{
    if (is_ignored(survey, name))
        return 0;

    int rc = add_seen(survey, stat->st_rdev, 0);

    return rc > 0 ? add_file(survey, path_fd, stat, name) : rc;
}

int survey_path(struct survey *survey, const char *path)
{
    struct stat stat;
    cleanup_close int fd = open(path, O_PATH | O_CLOEXEC | (survey->follow ? 0 : O_NOFOLLOW));

    if (fd < 0 || fstat(fd, &stat) < 0) {
        survey_fault(survey, path, strerror(errno));
        return 0;
    }
    if (S_ISDIR(stat.st_mode) || S_ISREG(stat.st_mode))
        return visit_path(survey, fd, &stat, &(struct level){path, stat.st_dev, -1, 0});
    if (S_ISBLK(stat.st_mode))
        return add_device(survey, fd, &stat, path);
    survey_fault(survey, path,
                 S_ISLNK(stat.st_mode) ? "a symbolic link; add --follow"
                                       : "neither a regular file, a block device nor a directory");
    return 0;
}

void survey_free(struct survey *survey)
{
    drop_from(survey, 0);
    free(survey->file);
    survey->file = NULL;
    tdestroy(survey->seen, free);
    survey->seen = NULL;
}
