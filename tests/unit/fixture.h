// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fixture.h  Captured trees for the unit tests; see tests/fixtures/capture.sh. */
#pragma once

#include "base/fsroot.h"

#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#define FIXTURE_PID 1000 /* capture.sh gives every process this pid */

/** Opens tests/fixtures/NAME as a root. */
static inline struct fsroot fixture_open(const char *name)
{
    struct fsroot root;
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", FIXTURES, name);
    ck_assert_msg(fsroot_open(&root, path) == 0, "no fixture %s", path);
    ck_assert(!root.live);
    return root;
}

static pid_t forking;         /* the process that forks, as the child sees it */
static bool children_outlive; /* what this process forks is to go on when it ends */

static inline void note_forking(void)
{
    forking = getpid();
}

static inline void end_with_parent(void)
{
    if (children_outlive)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != forking) /* it has ended already */
        _exit(1);
}

/** Runs the cases of one suite; returns the exit status for main(). Each case is a process and may
 * fork others. Each of them is killed when its parent ends: ctest may end this process at any time,
 * and some of them block signals or wait for the test. */
static inline int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);

    pthread_atfork(note_forking, NULL, end_with_parent);
    srunner_run_all(runner, CK_ENV);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
