// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file mapped.c  The files of a process: those that it has mapped, and (opened.c) those that it
 * has open. See survey.h. */
#include "cache/survey.h"

#include "base/cleanup.h"
#include "cache/maps.h"
#include "proc/process_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 65530 mappings, the kernel's default limit, with names of ordinary length fit many times. */
#define MAPS_MAX ((size_t)64 << 20)

/* Below /proc/PID/root. The name may lead to another file by now, or never have led to this one. */
static int open_by_name(const struct fsroot *process, const struct maps_line *line,
                        struct stat *stat)
{
    int fd = *line->path == '/'
                 ? fsroot_openf(process, O_PATH | O_NOFOLLOW, "root/%s", line->path + 1)
                 : -ENOENT;

    if (fd < 0)
        return fd;
    if (fstat(fd, stat) == 0 && stat->st_dev == line->device && stat->st_ino == line->inode)
        return fd;
    close(fd);
    return -ENOENT;
}

static int open_mapped(const struct fsroot *process, const struct maps_line *line,
                       struct stat *stat)
{
    int fd = fsroot_openf(process, O_PATH, "map_files/%llx-%llx", (unsigned long long)line->start,
                          (unsigned long long)line->end);

    if (fd < 0)
        return open_by_name(process, line, stat);
    if (fstat(fd, stat) == 0)
        return fd;

    int rc = -errno;

    close(fd);
    return rc;
}

static int visit_mapped(struct survey *survey, const struct fsroot *process,
                        const struct maps_line *line)
{
    char name[PATH_MAX];
    struct stat stat;
    cleanup_close int fd = open_mapped(process, line, &stat);

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
        if (!maps_parse(text, &line) || line.inode == 0)
            continue;
        /* A library is mapped in several pieces, one behind the other. */
        if (line.device != last.device || line.inode != last.inode)
            rc = visit_mapped(survey, process, &line);
        last = line;
    }
    return rc;
}

/* Its directory in /proc, or that of a thread of it: only a directory in /proc itself has
 * map_files. By its number alone the thread could be another process's by now. */
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
    /* Held, so that a later process of the same number cannot be taken for this one. */
    struct fsroot process = {.dirfd = open_process(survey->question.root, pid)};
    ssize_t rc = process.dirfd < 0 ? process.dirfd
                                   : fsroot_read_all(&process, &maps, MAPS_MAX, "maps");

    if (rc >= 0)
        rc = visit_all(survey, &process, maps);
    if (rc >= 0)
        rc = survey_opened(survey, &process);
    fsroot_close(&process);
    if (rc == -ENOENT || rc == -ESRCH)
        return error_set(error, -ESRCH, "process %d: there is none", (int)pid);
    return rc < 0 ? error_set(error, (int)rc, "process %d: %s", (int)pid, strerror((int)-rc)) : 0;
}
