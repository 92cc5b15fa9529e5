// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file subject.h  The process that is measured, and the flag that interrupts the method. */
#pragma once

#include "base/fsroot.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct wss_subject {
    const struct fsroot *root;
    pid_t pid;
    const volatile int *interrupted; /* the method ends when this is not 0; may be NULL */
};

static inline bool wss_interrupted(const volatile int *flag)
{
    return flag && *flag;
}
