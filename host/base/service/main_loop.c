// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/service/main_loop.h"

#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#define ACCURACY_US 1000 /* accuracy; 0 would mean a quarter of a second */

int main_loop_open(sd_event **loop, struct error *error)
{
    sigset_t signals;
    int rc;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    rc = sd_event_new(loop);
    if (rc >= 0)
        rc = sd_event_add_signal(*loop, NULL, SIGTERM, NULL, NULL);
    if (rc >= 0)
        rc = sd_event_add_signal(*loop, NULL, SIGINT, NULL, NULL);
    return rc < 0 ? error_set(error, rc, "the main loop: %s", strerror(-rc)) : 0;
}

int main_loop_add(sd_event *loop, sd_event_time_handler_t handler, void *context,
                  struct error *error)
{
    int rc = sd_event_add_time_relative(loop, NULL, CLOCK_MONOTONIC, 0, ACCURACY_US, handler,
                                        context);

    return rc < 0 ? error_set(error, rc, "the main loop: no timer: %s", strerror(-rc)) : 0;
}

/* The interval starts now, not when the handler was called: otherwise a handler slower than its
 * interval would be called without a pause. */
int main_loop_again(sd_event_source *timer, double seconds)
{
    int rc = sd_event_source_set_time(timer, clock_ns() / 1000 + (uint64_t)(seconds * 1e6));

    return rc < 0 ? rc : sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

/* Does nothing if the daemon handles SIGHUP itself, or if nohup(1) made it ignored. */
static int end_at_hangup(sd_event *loop)
{
    struct sigaction had;
    int rc = 0;

    if (sigaction(SIGHUP, NULL, &had) == 0 && had.sa_handler != SIG_IGN)
        rc = sd_event_add_signal(loop, NULL, SIGHUP, NULL, NULL);
    return rc == -EBUSY ? 0 : rc;
}

int main_loop_run(sd_event *loop, struct error *error)
{
    int rc = end_at_hangup(loop);

    if (rc >= 0) {
        sd_notify(0, "READY=1");
        rc = sd_event_loop(loop);
        sd_notify(0, "STOPPING=1");
    }
    return rc < 0 ? error_set(error, rc, "the main loop: %s", strerror(-rc)) : 0;
}
