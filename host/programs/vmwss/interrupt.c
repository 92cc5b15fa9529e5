// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file interrupt.c  See interrupt.h. */
#include "programs/vmwss/interrupt.h"

#include <signal.h>
#include <stddef.h>

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
