// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file opened.c  The files that a process has open, mapped or not. See survey.h. */
#include "cache/survey.h"

#include "base/cleanup.h"
#include "base/proc_pid.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* fd/N leads to the file itself, into other mount namespaces and to deleted files. */
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

int survey_opened(struct survey *survey, const struct fsroot *process)
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
