// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fleet_threads.c  How many threads there are: two, and one more for each look that hangs. What they do is in
 *  fleet_workers.c. */
#include "daemon/fleet_private.h"

#include "base/clock.h"
#include "base/cond.h"
#include "daemon/log.h"

#include <errno.h>
#include <time.h>

#define SECOND_NS 1000000000ULL

/* The mutex is held, or nobody else is there. */
static int start_worker(struct fleet *fleet)
{
    struct fleet_worker *worker = &fleet->workers[fleet->n_workers];
    int rc;

    worker->fleet = fleet;
    worker->seen_ns = clock_ns();
    rc = -pthread_create(&worker->thread, NULL, fleet_work, worker);
    fleet->n_workers += rc == 0;
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

bool fleet_workers_alive(const struct fleet *fleet, uint64_t now_ns)
{
    for (size_t i = 0; i < fleet->n_workers; i++)
        if (!fleet->workers[i].at && now_ns > fleet->workers[i].seen_ns + FLEET_STUCK_NS)
            return false;
    return true;
}

void fleet_relieve(struct fleet *fleet, uint64_t now_ns)
{
    size_t hanging = 0;

    pthread_mutex_lock(&fleet->mutex);
    for (size_t i = 0; i < fleet->n_workers; i++) {
        struct fleet_worker *worker = &fleet->workers[i];

        if (!hangs(worker, now_ns))
            continue;
        hanging++;
        if (!worker->said)
            log_line(LOG_CLASS_GUEST, LOG_WARNING,
                     "domain %s: looking at it hangs; others are looked at meanwhile",
                     worker->at->name);
        worker->said = true;
    }
    while (fleet->n_workers < FLEET_WORKERS + hanging && fleet->n_workers < FLEET_WORKERS_MAX &&
           start_worker(fleet) == 0)
        ;
    pthread_mutex_unlock(&fleet->mutex);
}

#define JOIN_NS 50000000L /* between two looks at whether it hangs */
#define LEAVE_NS (5 * SECOND_NS)

/* False: it has not ended yet. */
static bool joined(pthread_t thread)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += JOIN_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until) != ETIMEDOUT;
}

/* One that restores guests is waited for, however long it takes. */
static bool left_behind(struct fleet *fleet, const struct fleet_worker *worker, uint64_t begin_ns)
{
    bool looking;

    pthread_mutex_lock(&fleet->mutex);
    looking = worker->at != NULL;
    pthread_mutex_unlock(&fleet->mutex);
    return looking && clock_ns() > begin_ns + LEAVE_NS;
}

void fleet_stop_workers(struct fleet *fleet)
{
    uint64_t begin_ns = clock_ns();

    pthread_mutex_lock(&fleet->mutex);
    fleet->stop = true;
    pthread_cond_broadcast(&fleet->changed);
    pthread_mutex_unlock(&fleet->mutex);
    for (size_t i = 0; i < fleet->n_workers; i++)
        while (!joined(fleet->workers[i].thread) &&
               !left_behind(fleet, &fleet->workers[i], begin_ns))
            ;
}
