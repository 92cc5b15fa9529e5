// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file caught.h  What a function prints to standard output. */
#pragma once

#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
    int file, before;
    char text[1 << 17];
} caught;

/** From here on standard output is kept, until caught_output(). */
static inline void catch_output(void)
{
    caught.file = memfd_create("out", MFD_CLOEXEC);
    caught.before = dup(STDOUT_FILENO);
    ck_assert(caught.file >= 0 && caught.before >= 0 && fflush(stdout) == 0);
    dup2(caught.file, STDOUT_FILENO);
}

/** Returns what was printed; the next call overwrites it. */
static inline const char *caught_output(void)
{
    ssize_t n;

    fflush(stdout);
    dup2(caught.before, STDOUT_FILENO);
    n = pread(caught.file, caught.text, sizeof(caught.text) - 1, 0);
    ck_assert_int_ge(n, 0);
    caught.text[n] = '\0';
    close(caught.before);
    close(caught.file);
    return caught.text;
}

#define ck_assert_has(text, part) \
    ck_assert_msg(strstr(text, part) != NULL, "no %s in\n%s", part, text)
