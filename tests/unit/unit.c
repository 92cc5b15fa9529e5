// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file unit.c  See unit.h. */
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

bool children_outlive;

static pid_t forking; /* the process that forks, as the child sees it */

static void note_forking(void)
{
    forking = getpid();
}

static void end_with_parent(void)
{
    if (children_outlive)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != forking) /* it has ended already */
        _exit(1);
}

int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);

    pthread_atfork(note_forking, NULL, end_with_parent);
    srunner_run_all(runner, CK_ENV);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
