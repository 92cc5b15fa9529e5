// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file asleep.h  Waits until a thread that was told to sleep does. */
#pragma once

#include "base/proc_pid.h"
#include "unit.h"

#include <check.h>
#include <unistd.h>

/** Until process or thread @p tid waits for something. */
static inline void await_sleep(pid_t tid)
{
    cleanup_root struct fsroot root;
    struct proc_stat stat = {0};

    ck_assert_int_eq(fsroot_open(&root, "/"), 0);
    while (proc_stat_read(&root, tid, &stat) == 0 && stat.state != 'S')
        usleep(1000);
    ck_assert_int_eq(stat.state, 'S');
}
