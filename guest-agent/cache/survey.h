// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file survey.h  Surveys many files: named files, files below directories, and files that a
 * process has mapped or open. */
#pragma once

#include "base/error.h"
#include "cache/look.h"
#include "cache/total.h"

/** Directories deeper than this are not entered; each level costs a descriptor. */
#define SURVEY_DEPTH_MAX 128

struct survey {
    struct cache_question question;
    /* follow symbolic links that are named. Below a directory, only the kernel's own links are
     * followed, such as /proc/PID/fd/N */
    bool follow;
    /* if false, stay in the file system of the named directory, including its subvolumes */
    bool all_file_systems;
    bool cached_only; /* keep only files with cached pages; the total includes all files */
    /* Patterns of fnmatch(3), ending with NULL. A file or directory whose last part or whole name
     * matches is left out, a directory with everything below it. NULL: no patterns. */
    const char *const *ignore;
    /** Called for each file that could not be read; the survey continues. */
    void (*fault)(const char *name, const char *why);

    /** If there are more files than this, only the first ones in the order of cache_sort() are kept
     * (temporarily up to twice as many). 0: all. */
    size_t at_most;
    const char *order;

    struct cache_file *file;  /* in the order found, or in the order of keeping */
    struct cache_total total; /* totals of all files found */
    size_t n;
    size_t n_wanted; /* number of files that would be kept without at_most */
    size_t n_faults;
    void *seen; /* files and directories already counted, as a tree of tsearch(3) */
};

/**
 * Looks at a file, a block device, or all regular files below a directory. A device's pages are the
 * file system's metadata and what is read from the device itself, not those of the files on it.
 * Returns 0, also after faults; -EINTR if the question's patience ended the survey, with the
 * results so far; or -ENOMEM. Needs some 300 bytes of memory for each file kept, and 80 for each
 * file counted, so that no file counts twice.
 */
int survey_path(struct survey *survey, const char *path);

/**
 * Counts every file that the process has mapped, and every file that it has open. Mapped files are
 * opened through /proc/PID/map_files, which reaches into other mount namespaces and deleted files.
 * Without CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE they are opened by name below /proc/PID/root, if
 * the name still leads to the same file. Open files are found through /proc/PID/fd.
 * @return 0, also after faults, -EINTR as above, or a negative errno with the message: the process
 * does not exist, or may not be read.
 */
int survey_process(struct survey *survey, pid_t pid, struct error *error);

/** Only for the survey itself: counts @p path_fd (O_PATH) if it is a regular file that is new and
 * not ignored; otherwise does nothing. 0, -EINTR or -ENOMEM. */
int survey_add(struct survey *survey, int path_fd, const struct stat *stat, const char *name);

/** Only for the survey itself: counts and reports a fault. */
void survey_fault(struct survey *survey, const char *name, const char *why);

void survey_free(struct survey *survey);
