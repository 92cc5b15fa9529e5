// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file wait.c  See wait.h. */
#include "sample/wait.h"

#include "base/clock.h"
#include "domain/qemu_vcpus.h"

#include <errno.h>
#include <poll.h>

/* How often we look whether to stop, and draw the progress: the end of the guest and a signal wake
 * us at once, but a signal just before we sleep does not. At 20 ms a second of waiting took 1.6 ms
 * of CPU time, 48 ms for 30 s; a panel itself takes less. */
#define STEP_NS 250000000ULL

/* A dump of 256 MiB takes 0.7 s. Of a QEMU with ten threads a look at their names takes 0.1 ms. */
#define JOBS_NS 500000000ULL

struct jobs {
    uint64_t due_ns;
    uint64_t written_bytes; /* until the last check */
};

static struct jobs jobs_begin(const struct target *target, const struct wait *wait)
{
    return (struct jobs){
        .written_bytes = wait->jobs ? qemu_process_written_bytes(target->root, target->process)
                                    : 0};
}

/* A dump that falls between two checks has left no thread, but has written all of RAM since the
 * last. */
static void find_jobs(const struct target *target, const struct wait *wait, uint64_t now_ns,
                      struct jobs *jobs)
{
    if (!wait->jobs || now_ns < jobs->due_ns)
        return;

    uint64_t written_bytes = qemu_process_written_bytes(target->root, target->process);

    *wait->jobs |= qemu_process_jobs(target->root, target->process);
    if (written_bytes >= jobs->written_bytes + target->ram->bytes)
        *wait->jobs |= QEMU_JOB_DUMP;
    if (wait->own)
        own_time_sample(wait->own, target);
    *jobs = (struct jobs){.due_ns = now_ns + JOBS_NS, .written_bytes = written_bytes};
}

int wait_until(const struct target *target, const struct wait *wait, uint64_t until_ns,
               struct error *error)
{
    struct jobs jobs = jobs_begin(target, wait);

    /* At once, for a job may end just after the window has begun. */
    find_jobs(target, wait, clock_ns(), &jobs);
    for (uint64_t now = clock_ns(); now < until_ns; now = clock_ns()) {
        struct pollfd events[] = {{.fd = target->process->pidfd, .events = POLLIN},
                                  {.fd = wait->wake_fd, .events = POLLIN}};
        uint64_t step = until_ns - now < STEP_NS ? until_ns - now : STEP_NS;
        struct timespec timeout = {.tv_nsec = (long)step};
        int rc = ppoll(events, wait->poll ? 2 : 1, &timeout, NULL);

        find_jobs(target, wait, now, &jobs);
        if (wait->own)
            own_time_step(wait->own, target);
        if (wait->interrupted && *wait->interrupted)
            return error_set(error, -EINTR, "interrupted");
        if (rc > 0 && events[0].revents)
            return error_set(error, -ESRCH, "process %d: the guest vanished while it was measured",
                             target->process->pid);
        rc = rc > 0 && wait->poll ? wait->poll(wait->state, error) : 0;
        if (rc < 0)
            return rc;
        if (wait->progress)
            wait->progress((double)(clock_ns() - wait->began_ns) / 1e9, wait->total_s,
                           wait->progress_context);
    }
    jobs.due_ns = 0;
    find_jobs(target, wait, clock_ns(), &jobs);
    return 0;
}
