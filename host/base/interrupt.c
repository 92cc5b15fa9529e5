// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/interrupt.h"

#include "base/clock.h"
#include "base/progress.h"

#include <poll.h>
#include <signal.h>

/* The sleep checks the flag at this interval, because a signal that arrives just before the sleep
 * does not interrupt it. */
#define STEP_NS 250000000ULL

volatile int interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

void interrupt_catch(void)
{
    struct sigaction action = {.sa_handler = on_signal};

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

bool interrupt_wait(uint64_t until_ns, const char *what)
{
    uint64_t began_ns = clock_ns();
    struct progress progress;

    progress_init(&progress, what);
    for (uint64_t now = began_ns; now < until_ns && !interrupted; now = clock_ns()) {
        uint64_t step = until_ns - now < STEP_NS ? until_ns - now : STEP_NS;
        struct timespec timeout = {.tv_nsec = (long)step};

        ppoll(NULL, 0, &timeout, NULL);
        progress_draw((double)(clock_ns() - began_ns) / 1e9, (double)(until_ns - began_ns) / 1e9,
                      &progress);
    }
    progress_clear(&progress);
    return !interrupted;
}
