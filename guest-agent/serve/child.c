// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file child.c  See child.h. */
#include "serve/child.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

static void close_all_but(int one, int other)
{
    long limit = sysconf(_SC_OPEN_MAX);

    for (int fd = STDERR_FILENO + 1; fd < (limit > 0 && limit < 4096 ? limit : 4096); fd++)
        if (fd != one && fd != other)
            close(fd);
}

void child_begin(pid_t parent, int one, int other)
{
    /* The parent may have ended before the prctl(). */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(1);
    close_all_but(one, other);
}
