// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file run.h  Runs a program for what it writes, within bounds. */
#pragma once

#include "base/error.h"

#include <stddef.h>

struct run {
    const char *path;
    char *const *argv;
    size_t max_bytes;
    double deadline_s; /* from its start to its end */
    int ends_fd;       /* readable: give up; -1: nobody does */
};

/**
 * Runs it with this process's environment and no input, no signal blocked or ignored. It has ended
 * when this returns: what is given up is killed, though it may outlive @c ends_fd by what it hangs
 * in the kernel. SIGCHLD must not be ignored: how it ended could not be known, -ECHILD.
 * @param text  what it wrote to standard output, of *size bytes and a NUL, the caller's to free;
 *              none after an error
 * @return 0; -ECANCELED given up; -ETIMEDOUT; -EFBIG it writes more; -EIO it did not end with 0:
 *         the message is the first line that it wrote to standard error, or how it ended; or what
 *         starting it says
 */
int run_program(const struct run *run, char **text, size_t *size, struct error *error);
