// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file interrupt.c  See interrupt.h. */
#include "command/interrupt.h"

#include "base/clock.h"
#include "base/text/progress.h"

#include <poll.h>
#include <signal.h>

/* A signal just before we sleep does not wake us, so we look. */
#define STEP_NS 250000000ULL

static volatile int seen;

static void on_signal(int number)
{
    (void)number;
    seen = 1;
}

void interrupt_catch(void)
{
    struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART: waits shall end */

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

const volatile int *interrupt_flag(void)
{
    return &seen;
}

bool interruptible_wait(uint64_t until_ns, const char *what)
{
    uint64_t began_ns = clock_ns();
    struct progress progress;

    progress_init(&progress, what);
    for (uint64_t now = began_ns; now < until_ns && !seen; now = clock_ns()) {
        uint64_t step = until_ns - now < STEP_NS ? until_ns - now : STEP_NS;
        struct timespec timeout = {.tv_nsec = (long)step};

        ppoll(NULL, 0, &timeout, NULL);
        progress_draw((double)(clock_ns() - began_ns) / 1e9, (double)(until_ns - began_ns) / 1e9,
                      &progress);
    }
    progress_clear(&progress);
    return !seen;
}
