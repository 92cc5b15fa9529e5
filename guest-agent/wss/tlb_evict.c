// SPDX-License-Identifier: LGPL-2.1-or-later
#include "wss/tlb_evict.h"

#include "base/clock.h"
#include "wss/subject.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 8 /* six, and two spare ones */
#define PATIENCE_NS 1000000000ULL

/* sched_setaffinity() returns only when we run on the CPU. That is at once if we may use real-time
 * priority, which lasts microseconds; otherwise we wait for a time slice on a busy CPU. */
static void visit_cpus(const cpu_set_t *cpus)
{
    const struct sched_param first = {.sched_priority = 1};

    sched_setscheduler(0, SCHED_FIFO, &first);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        cpu_set_t one;

        if (!CPU_ISSET(cpu, cpus))
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof(one), &one);
    }
}

/* Limits the wait, because a CPU on which a task of higher priority always runs is never
 * visited. */
static void wait_for(const pid_t *child, size_t n, const volatile int *interrupted)
{
    const uint64_t until_ns = clock_ns() + PATIENCE_NS;

    for (size_t i = 0; i < n; i++) {
        while (waitpid(child[i], NULL, WNOHANG) == 0 && clock_ns() < until_ns &&
               !wss_interrupted(interrupted))
            clock_sleep(500000);
        kill(child[i], SIGKILL);
        while (waitpid(child[i], NULL, 0) < 0 && errno == EINTR)
            ;
    }
}

int tlb_evict(const volatile int *interrupted)
{
    cpu_set_t cpus;
    pid_t child[CHILDREN];
    int rc = 0;
    size_t n = 0;

    /* our own affinity may be narrower than the CPUs that we may use */
    memset(&cpus, 0xff, sizeof(cpus));
    for (; rc == 0 && n < CHILDREN; n += rc == 0) {
        child[n] = fork();
        if (child[n] == 0) {
            sched_setaffinity(0, sizeof(cpus), &cpus);
            sched_getaffinity(0, sizeof(cpus), &cpus);
            visit_cpus(&cpus);
            _exit(0);
        }
        rc = child[n] < 0 ? -errno : 0;
    }
    wait_for(child, n, interrupted);
    return wss_interrupted(interrupted) ? -EINTR : rc;
}
