// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file run.h  Runs a program and collects its output, within limits. */
#pragma once

#include "base/error.h"

#include <stddef.h>

struct run {
    const char *path;
    char *const *argv;
    size_t max_bytes;
    double deadline_s; /* from its start to its end */
    int ends_fd;       /* readable: give up; -1: never */
};

/**
 * Runs the program with this process's environment and no input, no signal blocked or ignored. The
 * program has ended when this returns: if it is given up it is killed, though a program that hangs
 * in the kernel may outlive @c ends_fd by that time. SIGCHLD must not be ignored: then its exit
 * status cannot be known, -ECHILD.
 * @param text  its standard output, of *size bytes and a NUL, which the caller frees; not set after
 *              an error
 * @return 0; -ECANCELED given up; -ETIMEDOUT; -EFBIG its output is larger; -EIO it did not exit
 *         with 0: the message is its first line on standard error, or how it ended; or the error of
 *         starting it
 */
int run_program(const struct run *run, char **text, size_t *size, struct error *error);
