// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file survey.h  Many files: those named, those below directories, those that a process has
 * mapped or open. */
#pragma once

#include "base/error.h"
#include "cache/look.h"
#include "cache/total.h"

/** Directories deeper than this are not entered; each level costs a descriptor. */
#define SURVEY_DEPTH_MAX 128

struct survey {
    struct cache_question question;
    bool follow; /* symbolic links that are named; of those found below only the kernel's own, as
                    /proc/PID/fd/N */
    bool all_file_systems; /* else only that of the named directory, with its subvolumes */
    bool cached_only;      /* keeps only files of which something is cached; the total is of all */
    /* Patterns of fnmatch(3), ending with NULL: what matches one of them by its last part or the
     * whole of its name is left out, a directory with all below it. NULL: none. */
    const char *const *ignore;
    /** Called with what could not be read; the survey goes on. */
    void (*fault)(const char *name, const char *why);

    /** If there are more files than this, only the first ones by this order of cache_sort() are
     * kept (at times twice as many). 0: all. */
    size_t at_most;
    const char *order;

    struct cache_file *file;  /* in the order found, or as kept */
    struct cache_total total; /* of all that were found */
    size_t n;
    size_t n_wanted; /* that would be among them but for at_most */
    size_t n_faults;
    void *seen; /* files and directories that were looked at: tsearch(3) */
};

/**
 * Looks at a file, a block device, or all regular files below a directory. A device's pages are its
 * own: a file system's metadata, and what is read of the device itself; not those of the files on
 * it. 0, also after faults; -EINTR when the question's patience is at its end, with what was looked
 * at until then; or -ENOMEM. Memory: some 300 bytes for each file that is kept, and 80 for each
 * that was looked at, so that it counts once.
 */
int survey_path(struct survey *survey, const char *path);

/**
 * Counts every file that the process has mapped, through /proc/PID/map_files, which reaches into
 * other mount namespaces and deleted files; without CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE through
 * /proc/PID/root and the name, which counts only if the same file is still there. And every file
 * that it has open, through /proc/PID/fd.
 * @return 0, also after faults, -EINTR as above, or a negative errno with the message: the process
 * is not there, or not ours to see.
 */
int survey_process(struct survey *survey, pid_t pid, struct error *error);

/** For the survey's own use: counts what @p path_fd (O_PATH) is, if it is a regular file that was
 * not seen before and is not ignored; anything else is left out silently. 0, -EINTR or -ENOMEM. */
int survey_add(struct survey *survey, int path_fd, const struct stat *stat, const char *name);

/** For the survey's own use: counts and reports a fault. */
void survey_fault(struct survey *survey, const char *name, const char *why);

void survey_free(struct survey *survey);
