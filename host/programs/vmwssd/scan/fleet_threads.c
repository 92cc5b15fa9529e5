// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file fleet_threads.c  The number of threads: two, and one more for each scan that hangs, up to
 * FLEET_WORKERS_MAX. If all of these hang no guest is scanned, and the fleet is not alive: then the
 * watchdog gets no more signals, and the service manager ends us with a message. fleet_workers.c
 * has the work of the threads.
 */
#include "programs/vmwssd/scan/fleet_private.h"

#include "base/clock.h"
#include "base/cond.h"
#include "base/service/log.h"

#include <errno.h>
#include <time.h>

#define SECOND_NS 1000000000ULL
/* fleet_relieve() is called every five seconds: after a longer gap, everything was stopped, as by
 * SIGSTOP or a control group freezer. */
#define STOPPED_NS (8 * SECOND_NS)
#define APART_FIRST_NS (60 * SECOND_NS)
#define APART_MOST_NS (960 * SECOND_NS)

/* The mutex is held, or there is no other thread. */
static int start_worker(struct fleet *fleet)
{
    struct fleet_worker *worker = &fleet->threads.worker[fleet->threads.n];
    int rc;

    worker->fleet = fleet;
    worker->seen_ns = clock_ns();
    rc = -pthread_create(&worker->thread, NULL, fleet_work, worker);
    fleet->threads.n += rc == 0;
    return rc;
}

int fleet_start_workers(struct fleet *fleet)
{
    int rc = 0;

    pthread_mutex_init(&fleet->mutex, NULL);
    cond_init(&fleet->changed);
    for (size_t i = 0; rc == 0 && i < FLEET_WORKERS; i++)
        rc = start_worker(fleet);
    return rc;
}

static bool hangs(const struct fleet_worker *worker, uint64_t now_ns)
{
    return worker->at && now_ns > worker->seen_ns + FLEET_HANGS_NS;
}

double fleet_cpu_s(const struct fleet *fleet)
{
    return own_cpu_s() + scanner_cpu_s(fleet->sinks.scanner) -
           writer_checking_cpu_s(fleet->sinks.writer) - fleet_writes_unpaid_s(fleet, clock_ns());
}

size_t fleet_workers_hanging(const struct fleet *fleet, uint64_t now_ns)
{
    size_t n = 0;

    for (size_t i = 0; i < fleet->threads.n; i++)
        n += hangs(&fleet->threads.worker[i], now_ns);
    return n;
}

bool fleet_workers_alive(const struct fleet *fleet, uint64_t now_ns)
{
    for (size_t i = 0; i < fleet->threads.n; i++)
        if (!fleet->threads.worker[i].at &&
            now_ns > fleet->threads.worker[i].seen_ns + FLEET_STUCK_NS)
            return false;
    return fleet_workers_hanging(fleet, now_ns) < fleet->threads.n;
}

uint64_t fleet_set_apart(struct fleet_guest *guest, uint64_t began_ns, uint64_t due_ns)
{
    uint64_t now_ns = clock_ns();

    if (now_ns < began_ns + FLEET_HANGS_NS || due_ns == 0) {
        guest->apart_ns = 0;
        return due_ns;
    }
    guest->apart_ns = guest->apart_ns ? 2 * guest->apart_ns : APART_FIRST_NS;
    if (guest->apart_ns > APART_MOST_NS)
        guest->apart_ns = APART_MOST_NS;
    return due_ns > now_ns + guest->apart_ns ? due_ns : now_ns + guest->apart_ns;
}

/* Returns true after a stop, and restarts each worker's time: the scanner continues with a batch
 * whose rest other workers would otherwise scan as well. The mutex is held. */
static bool was_stopped(struct fleet *fleet)
{
    const uint64_t now_ns = clock_ns();
    const bool stopped = fleet->threads.relieved_ns &&
                         now_ns > fleet->threads.relieved_ns + STOPPED_NS;

    fleet->threads.relieved_ns = now_ns;
    for (size_t i = 0; stopped && i < fleet->threads.n; i++)
        fleet->threads.worker[i].seen_ns = now_ns;
    return stopped;
}

/* The mutex is held. */
static void relieve(struct fleet *fleet, uint64_t now_ns)
{
    size_t hanging = 0;

    for (size_t i = 0; i < fleet->threads.n; i++) {
        struct fleet_worker *worker = &fleet->threads.worker[i];

        if (!hangs(worker, now_ns))
            continue;
        hanging++;
        if (!worker->restores) /* the worker does this itself, unless it hangs elsewhere */
            fleet_batch_release(fleet, &worker->batch);
        if (!worker->logged)
            log_line(LOG_CLASS_GUEST, LOG_WARNING,
                     "domain %s: %s hangs; other guests are scanned meanwhile", worker->at->name,
                     worker->restores ? "restoring it" : "its scan");
        worker->logged = true;
    }
    while (fleet->threads.n < FLEET_WORKERS + hanging && fleet->threads.n < FLEET_WORKERS_MAX &&
           start_worker(fleet) == 0)
        ;
}

void fleet_relieve(struct fleet *fleet, uint64_t now_ns)
{
    HOLD(&fleet->mutex);
    if (!was_stopped(fleet))
        relieve(fleet, now_ns);
}

#define JOIN_NS 50000000ULL /* interval between two checks whether it hangs */
#define LEAVE_NS (5 * SECOND_NS)

/* Returns false if it has not ended yet. */
static bool joined(pthread_t thread)
{
    const struct timespec until = timespec_of_ns(clock_ns() + JOIN_NS);

    return pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until) != ETIMEDOUT;
}

/* Waits for a worker that restores guests, unless that hangs: the scanner, which does the work,
 * ends no sooner. */
static bool left_behind(struct fleet *fleet, const struct fleet_worker *worker, uint64_t begin_ns)
{
    const uint64_t now_ns = clock_ns();
    bool late;

    pthread_mutex_lock(&fleet->mutex);
    late = worker->at && (!worker->restores || hangs(worker, now_ns));
    pthread_mutex_unlock(&fleet->mutex);
    return late && now_ns > begin_ns + LEAVE_NS;
}

void fleet_stop_workers(struct fleet *fleet)
{
    uint64_t begin_ns = clock_ns();

    pthread_mutex_lock(&fleet->mutex);
    fleet->stop = true;
    pthread_cond_broadcast(&fleet->changed);
    pthread_mutex_unlock(&fleet->mutex);
    for (size_t i = 0; i < fleet->threads.n; i++)
        while (!joined(fleet->threads.worker[i].thread) &&
               !left_behind(fleet, &fleet->threads.worker[i], begin_ns))
            ;
}
