// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file mapped.c  The files that a process has mapped or open. See survey.h. */
#include "cache/survey.h"

#include "base/cleanup.h"
#include "base/page_sizes.h"
#include "base/proc_pid.h"
#include "cache/maps.h"
#include "proc/hidden.h"
#include "proc/process_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Ample for 65530 mappings, the kernel's default limit, with names of ordinary length. */
#define MAPS_MAX ((size_t)64 << 20)

/* The kernel escapes only newlines, not backslashes, so a name that contains "\012" is first tried
 * as it is. */
static bool undo_newlines(char *path)
{
    char *to = path;
    bool any = false;

    for (const char *from = path; *from; to++) {
        bool newline = !strncmp(from, "\\012", 4);

        *to = newline ? '\n' : *from;
        from += newline ? 4 : 1;
        any |= newline;
    }
    *to = '\0';
    return any;
}

struct wanted {
    const struct maps_line *line;
    uint64_t start; /* start of our own mapping */
    bool same;
};

static int compare_own(const struct vma *vma, void *context)
{
    struct wanted *wanted = context;

    if (vma->start != wanted->start)
        return 0;
    wanted->same = makedev(vma->device.major, vma->device.minor) == wanted->line->device &&
                   vma->inode == wanted->line->inode;
    return 1;
}

/* On btrfs and overlayfs, maps shows another device than stat(2). So the file is mapped, but not
 * touched, to see what maps shows for it. */
static bool is_shown_alike(const struct fsroot *root, int path_fd, const struct maps_line *line)
{
    cleanup_close int fd = fsroot_openf(root, O_RDONLY | O_NONBLOCK | O_NOCTTY, "proc/self/fd/%d",
                                        path_fd);
    size_t bytes = base_page_bytes();
    void *mapping = fd >= 0 ? mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    struct wanted wanted = {.line = line, .start = (uintptr_t)mapping};

    if (mapping == MAP_FAILED)
        return false;
    maps_walk(root, getpid(), compare_own, &wanted, NULL);
    munmap(mapping, bytes);
    return wanted.same;
}

static bool is_mapped_file(const struct fsroot *root, int path_fd, const struct maps_line *line,
                           struct stat *stat)
{
    return fstat(path_fd, stat) == 0 &&
           ((stat->st_dev == line->device && stat->st_ino == line->inode) ||
            (S_ISREG(stat->st_mode) && is_shown_alike(root, path_fd, line)));
}

/* Opens the name below /proc/PID/root. The name may now lead to another file, or may never have led
 * to this one. */
static int open_by_name(const struct fsroot *root, const struct fsroot *process,
                        const struct maps_line *line, struct stat *stat)
{
    cleanup_free char *path = *line->path == '/' ? strdup(line->path + 1) : NULL;
    int rc = -ENOENT;

    for (bool more = path; more; more = undo_newlines(path)) {
        int fd = fsroot_openf(process, O_PATH | O_NOFOLLOW, "root/%s", path);

        if (fd >= 0 && is_mapped_file(root, fd, line, stat))
            return fd;
        rc = fd >= 0 ? -ENOENT : fd;
        if (fd >= 0)
            close(fd);
    }
    return rc;
}

/* A library is mapped in several consecutive pieces. The same device, inode and name may still be
 * another file, for example if two subvolumes were mounted there in turn; but files that are opened
 * by name are then the same. */
static bool is_same_name(const struct maps_line *line, const struct maps_line *last)
{
    return last->path && line->device == last->device && line->inode == last->inode &&
           !strcmp(line->path, last->path);
}

static int visit_mapped(struct survey *survey, const struct fsroot *process,
                        const struct maps_line *line, const struct maps_line *last)
{
    char name[PATH_MAX];
    struct stat stat;
    cleanup_close int fd = fsroot_openf(process, O_PATH, "map_files/%llx-%llx",
                                        (unsigned long long)line->start,
                                        (unsigned long long)line->end);

    if (fd < 0 && is_same_name(line, last))
        return 0;
    if (fd < 0)
        fd = open_by_name(survey->question.root, process, line, &stat);
    else if (fstat(fd, &stat) < 0) {
        survey_fault(survey, line->path, strerror(errno));
        return 0;
    }
    if (fsroot_readlink(process, name, sizeof(name), "map_files/%llx-%llx",
                        (unsigned long long)line->start, (unsigned long long)line->end) < 0)
        snprintf(name, sizeof(name), "%s", line->path);
    if (fd >= 0)
        return survey_add(survey, fd, &stat, name);
    survey_fault(survey, name,
                 fd == -ENOENT ? "no longer there by that name; CAP_SYS_ADMIN or "
                                 "CAP_CHECKPOINT_RESTORE can see it all the same"
                               : strerror(-fd));
    return 0;
}

static int visit_all(struct survey *survey, const struct fsroot *process, char *maps)
{
    struct maps_line line, last = {0};
    char *rest = NULL;
    int rc = 0;

    for (char *text = strtok_r(maps, "\n", &rest); text && rc == 0;
         text = strtok_r(NULL, "\n", &rest)) {
        if (!maps_parse(text, &line) || (line.device == 0 && line.inode == 0))
            continue;
        rc = visit_mapped(survey, process, &line, &last);
        last = line;
    }
    return rc;
}

/* Opening fd/N gives the file itself, also in other mount namespaces and if it was deleted. */
static int visit_opened(struct survey *survey, const struct fsroot *process, int number)
{
    struct stat stat;
    char name[PATH_MAX];
    cleanup_close int fd = fsroot_openf(process, O_PATH, "fd/%d", number);

    if (fd == -ENOENT)
        return 0; /* closed meanwhile */
    if (fsroot_readlink(process, name, sizeof(name), "fd/%d", number) < 0)
        snprintf(name, sizeof(name), "descriptor %d", number);
    if (fd >= 0 && fstat(fd, &stat) == 0)
        return survey_add(survey, fd, &stat, name);
    survey_fault(survey, name, strerror(fd < 0 ? -fd : errno));
    return 0;
}

/* Counts the files that the process, whose directory in /proc is given, has open. */
static int survey_opened(struct survey *survey, const struct fsroot *process)
{
    cleanup_free pid_t *number = NULL;
    ssize_t n = proc_numbers(process, "fd", &number);
    int rc = 0;

    if (n < 0)
        return (int)n;
    for (ssize_t i = 0; rc == 0 && i < n; i++)
        rc = visit_opened(survey, process, number[i]);
    return rc;
}

/* A thread may have its own descriptors: unshare(CLONE_FILES). Threads that share them, according
 * to kcmp(2), are skipped; a file found twice counts once. */
static int survey_threads(struct survey *survey, const struct fsroot *process, pid_t first)
{
    cleanup_free pid_t *tid = NULL;
    ssize_t n = proc_numbers(process, "task", &tid);
    int rc = 0;

    for (ssize_t i = 0; rc == 0 && i < n; i++) {
        struct fsroot thread;

        if (tid[i] == first || syscall(SYS_kcmp, first, tid[i], KCMP_FILES, 0UL, 0UL) == 0)
            continue;
        thread.dirfd = fsroot_openf(process, O_PATH | O_DIRECTORY, "task/%d", (int)tid[i]);
        rc = thread.dirfd < 0 ? 0 : survey_opened(survey, &thread);
        if (thread.dirfd >= 0)
            fsroot_close(&thread);
        rc = rc == -ENOENT || rc == -ESRCH ? 0 : rc; /* the thread has ended */
    }
    return rc;
}

/* Opens the process's directory in /proc, or that of one of its threads, because only a directory
 * directly in /proc has map_files. A thread's number may now belong to another process, so its
 * directory is checked. */
static int open_process(const struct fsroot *root, pid_t pid)
{
    pid_t tid = process_thread(root, pid);
    struct fsroot process = {
        .dirfd = fsroot_openf(root, O_PATH | O_DIRECTORY, "proc/%d", (int)tid)};

    if (tid == pid || (process.dirfd >= 0 && fsroot_exists(&process, "task/%d", (int)pid)))
        return process.dirfd;
    fsroot_close(&process);
    return fsroot_openf(root, O_PATH | O_DIRECTORY, "proc/%d/task/%d", (int)pid, (int)tid);
}

int survey_process(struct survey *survey, pid_t pid, struct error *error)
{
    cleanup_free char *maps = NULL;
    /* kept open, so that a later process with the same number is not taken for this one */
    struct fsroot process = {.dirfd = open_process(survey->question.root, pid)};
    ssize_t rc = process.dirfd < 0 ? process.dirfd
                                   : fsroot_read_all(&process, &maps, MAPS_MAX, "maps");

    if (rc >= 0)
        rc = visit_all(survey, &process, maps);
    if (rc >= 0)
        rc = survey_opened(survey, &process);
    if (rc >= 0)
        rc = survey_threads(survey, &process, process_thread(survey->question.root, pid));
    fsroot_close(&process);
    if (rc == -ENOENT || rc == -ESRCH)
        rc = process_absence(survey->question.root, pid);
    if (rc == -ESRCH)
        return error_set(error, -ESRCH, "process %d: there is none", (int)pid);
    return rc < 0 ? error_set(error, (int)rc, "process %d: %s", (int)pid, strerror((int)-rc)) : 0;
}
