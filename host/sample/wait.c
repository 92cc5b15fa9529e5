// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file wait.c  See wait.h. */
#include "sample/wait.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>

#define POLL_STEP_NS 20000000ULL /* how often a method is polled while we wait */
/* Without that, how often we look whether to stop, and draw the progress: the end of the guest and a signal wake us
 * at once, but a signal just before we sleep does not. At 20 ms a second of waiting took 1.6 ms of CPU time, 48 ms for
 * 30 s; a panel itself takes less. */
#define STEP_NS 250000000ULL

int wait_until(const struct target *target, const struct wait *wait, uint64_t until_ns,
               struct error *error)
{
    uint64_t longest_ns = wait->poll ? POLL_STEP_NS : STEP_NS;

    for (uint64_t now = clock_ns(); now < until_ns; now = clock_ns()) {
        struct pollfd end = {.fd = target->process->pidfd, .events = POLLIN};
        uint64_t step = until_ns - now < longest_ns ? until_ns - now : longest_ns;
        struct timespec timeout = {.tv_nsec = (long)step};
        int rc = ppoll(&end, 1, &timeout, NULL);

        if (wait->interrupted && *wait->interrupted)
            return error_set(error, -EINTR, "interrupted");
        if (rc > 0)
            return error_set(error, -ESRCH, "process %d: the guest vanished while it was measured",
                             target->process->pid);
        rc = wait->poll ? wait->poll(wait->state, error) : 0;
        if (rc < 0)
            return rc;
        if (wait->progress)
            wait->progress((double)(clock_ns() - wait->began_ns) / 1e9, wait->total_s,
                           wait->progress_context);
    }
    return 0;
}
