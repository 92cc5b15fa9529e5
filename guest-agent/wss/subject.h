// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file subject.h  The process that a method looks at, and the flag that interrupts it. */
#pragma once

#include "base/fsroot.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct wss_subject {
    const struct fsroot *root;
    pid_t pid;
    const volatile int *interrupted; /* not 0: give up; may be NULL */
};

static inline bool wss_interrupted(const volatile int *flag)
{
    return flag && *flag;
}
