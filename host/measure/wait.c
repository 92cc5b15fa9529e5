// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/wait.h"

#include "base/clock.h"
#include "guest/domain/qemu_vcpus.h"
#include "guest/domain/qemu_writers.h"

#include <errno.h>
#include <poll.h>

/* The interval at which the wait checks for a stop and draws the progress: the end of the guest and
 * a signal end the wait at once, except for a signal just before the sleep. With 20 ms, a second of
 * waiting took 1.6 ms of CPU time (48 ms for 30 s), more than a panel itself. */
#define STEP_NS 250000000ULL

/* With huge pages, only these steps show a job that ends within the window. A step takes 0.05 ms of
 * CPU time. */
#define HUGE_STEP_NS 50000000ULL

/* A job that began before the window, or ends after it, may stop the vCPUs for less than a step
 * within the window. So near both ends the steps are short: a fiftieth of the window. */
#define END_NS 500000000ULL
#define SHORT_STEP_NS 20000000ULL

/* A dump of 256 MiB takes 0.7 s. Reading the names of a QEMU's ten threads takes 0.1 ms. */
#define JOBS_NS 500000000ULL

struct jobs {
    uint64_t due_ns;
    uint64_t written_bytes; /* bytes written until the last check */
    /* bytes written until the previous check if no vCPU ran at the last one; otherwise as above */
    uint64_t before_bytes;
    struct qemu_writers writers;
    bool packets; /* the main thread writes what the guest sends, too */
};

static void jobs_begin(const struct target *target, const struct wait *wait, struct jobs *jobs)
{
    *jobs = (struct jobs){.due_ns = 0};
    if (!wait->jobs)
        return;
    qemu_writers_read(&jobs->writers, target->root, target->process, 0);
    jobs->packets = qemu_process_writes_packets(target->root, target->process);
    jobs->written_bytes = jobs->before_bytes = jobs->writers.all.bytes;
}

/* A compressed dump by the main thread, or by a thread that has ended, stops the vCPUs for some
 * hundredths of a second only. */
static bool wrote_dump(const struct target *target, struct jobs *jobs)
{
    const uint64_t ram_bytes = target->ram->bytes;
    const struct qemu_transfers written = qemu_writers_read(
        &jobs->writers, target->root, target->process, qemu_dump_least_bytes(ram_bytes));

    return !jobs->packets && qemu_wrote_dump(&written, ram_bytes);
}

/* A dump between two checks has left no thread, but has written all of RAM since the last check. A
 * dump by QEMU's main thread during a check has written it since the check before. */
static void find_jobs(const struct target *target, const struct wait *wait, uint64_t now_ns,
                      struct jobs *jobs)
{
    if (!wait->jobs || now_ns < jobs->due_ns)
        return;

    uint64_t written_bytes = qemu_process_transfers(target->root, target->process).bytes;

    *wait->jobs |= qemu_process_jobs(target->root, target->process);
    if (wrote_dump(target, jobs) || written_bytes >= jobs->before_bytes + target->ram->bytes)
        *wait->jobs |= QEMU_JOB_DUMP;
    if (wait->own)
        own_time_sample(wait->own, target);
    if (wait->between)
        wait->between(wait->state);
    jobs->due_ns = now_ns + JOBS_NS;
    jobs->before_bytes = qemu_process_vcpus_stopped(target->root, target->process)
                             ? jobs->written_bytes
                             : written_bytes;
    jobs->written_bytes = written_bytes;
}

/* The time from now to the next check. */
static uint64_t next_step_ns(const struct target *target, const struct wait *wait,
                             uint64_t begin_ns, uint64_t now_ns, uint64_t until_ns)
{
    const uint64_t left_ns = until_ns - now_ns;
    uint64_t step_ns = wait->own && guest_ram_has_huge_pages(target->ram) ? HUGE_STEP_NS : STEP_NS;

    if (wait->own && (now_ns - begin_ns < END_NS || left_ns <= END_NS))
        step_ns = SHORT_STEP_NS;
    else if (wait->own && left_ns - END_NS < step_ns)
        step_ns = left_ns - END_NS;
    return left_ns < step_ns ? left_ns : step_ns;
}

static int wait_with(const struct target *target, const struct wait *wait, struct jobs *jobs,
                     uint64_t until_ns, struct error *error)
{
    const uint64_t begin_ns = clock_ns();

    /* check at once, because a job may end just after the window has begun */
    find_jobs(target, wait, clock_ns(), jobs);
    for (uint64_t now = clock_ns(); now < until_ns; now = clock_ns()) {
        struct pollfd events[] = {{.fd = target->process->pidfd, .events = POLLIN},
                                  {.fd = wait->wake_fd, .events = POLLIN}};
        struct timespec timeout = {
            .tv_nsec = (long)next_step_ns(target, wait, begin_ns, now, until_ns)};
        int rc = ppoll(events, wait->poll ? 2 : 1, &timeout, NULL);

        if (wait->own)
            own_time_step(wait->own, target);
        find_jobs(target, wait, now, jobs);
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
    jobs->due_ns = 0;
    find_jobs(target, wait, clock_ns(), jobs);
    return 0;
}

int wait_until(const struct target *target, const struct wait *wait, uint64_t until_ns,
               struct error *error)
{
    struct jobs jobs;

    jobs_begin(target, wait, &jobs);

    int rc = wait_with(target, wait, &jobs, until_ns, error);

    qemu_writers_free(&jobs.writers);
    return rc;
}
