// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file agents.c  The thread, and the functions that other threads call; see agents.h.
 * agents_ask.c asks. */
#include "programs/vmwssd/agents/agents.h"

#include "base/clock.h"
#include "base/cond.h"
#include "history/store.h"
#include "programs/vmwssd/agents/agents_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define STALE_PERIODS 3 /* an answer older than this does not count */
#define STALE_S 10
#define END_NS 250000000ULL

static void wake(struct agents *agents)
{
    const uint64_t one = 1;

    /* The write can fail only if the thread is awake already. */
    if (write(agents->wake_fd, &one, sizeof(one)) < 0)
        return;
}

void agents_switch(struct agents *agents, bool on, double period_s)
{
    pthread_mutex_lock(&agents->mutex);
    agents->on = on;
    agents->polling.wanted_s = period_s;
    pthread_mutex_unlock(&agents->mutex);
    wake(agents);
}

void agents_keep_stalls(struct agents *agents, struct writer *writer)
{
    HOLD(&agents->mutex);
    agents->writer = writer;
}

double agents_pace(struct agents *agents, double period_s, uint64_t held_until_ns)
{
    HOLD(&agents->mutex);
    agents->polling.planned_s = period_s;
    agents->polling.held_until_ns = held_until_ns;

    return agents->on ? agents->polling.cost_s : 0;
}

void agents_source(struct agents *agents, unsigned source, const struct agents_libvirt *libvirt,
                   bool wanted)
{
    if (source >= AGENTS_MAX_SOURCES)
        return;
    pthread_mutex_lock(&agents->mutex);
    /* never changes once it is set; the thread reads it without the lock */
    if (!agents->sources[source].at.uri)
        agents->sources[source].at = *libvirt;
    agents->sources[source].wanted = wanted;
    pthread_mutex_unlock(&agents->mutex);
    wake(agents);
}

struct agent_peer *agents_find(const struct agents *agents, const char *uuid)
{
    struct agent_peer *one = agents->list;

    while (one && strcmp(one->uuid, uuid) != 0)
        one = one->next;
    return one;
}

void agents_plugged(struct agents *agents, const char *uuid)
{
    HOLD(&agents->mutex);

    struct agent_peer *peer = agents_find(agents, uuid);

    if (peer)
        peer->xml.plugged = true;
}

void agents_annotate(struct agents *agents, struct sample_record *record)
{
    const double now_s = store_clock_now().steady_s;

    HOLD(&agents->mutex);

    struct agent_peer *peer = agents->on ? agents_find(agents, record->uuid) : NULL;

    if (peer)
        guest_tracker_annotate(&peer->tracker, record, now_s,
                               STALE_PERIODS * polling_period_s(&agents->polling) + STALE_S);
    else if (agents->on)
        guest_stats_unavailable(&record->guest, "not asked yet");
}

char *agents_take_last_report(struct agents *agents, const char *uuid)
{
    char *last_report = NULL;

    HOLD(&agents->mutex);

    struct agent_peer *peer = agents->on ? agents_find(agents, uuid) : NULL;

    if (peer) {
        last_report = peer->lines;
        peer->lines = NULL;
    }
    return last_report;
}

/* --- the thread ------------------------------------------------------------------------------- */

static void *agents_run(void *context)
{
    struct agents *agents = context;
    bool was_on = false;

    for (;;) {
        pthread_mutex_lock(&agents->mutex);

        uint64_t now_ns = clock_ns();
        bool stop = agents->stop;
        bool on = agents->on;
        bool begins = on && now_ns >= polling_due_ns(&agents->polling);

        if (begins)
            polling_begin(&agents->polling, now_ns, thread_cpu_s() + agents->balloon_stats_cpu_s);
        if (!on)
            agents->polling.began_ns = 0; /* ask at once when it is switched on again */

        uint64_t until_ns = on ? polling_due_ns(&agents->polling) : UINT64_MAX;
        bool held = polling_held(&agents->polling, now_ns);

        pthread_mutex_unlock(&agents->mutex);
        if (stop)
            return NULL;
        if (was_on && !on)
            agents_forget(agents);
        if (begins)
            agents_poll(agents);
        was_on = on;
        agents_listen(agents, until_ns, held);
    }
}

int agents_start(struct agents **out, struct scanner *scanner, struct error *error)
{
    struct agents *agents = calloc(1, sizeof(*agents));
    int rc;

    if (!agents)
        return error_set(error, -ENOMEM, "out of memory");
    pthread_mutex_init(&agents->mutex, NULL);
    agents->scanner = scanner;
    agents->polling.wanted_s = 1;
    agents->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    rc = agents->wake_fd < 0 ? -errno : -pthread_create(&agents->thread, NULL, agents_run, agents);
    if (rc < 0) {
        if (agents->wake_fd >= 0)
            close(agents->wake_fd);
        free(agents);
        return error_set(error, rc, "no thread to ask guests: %s", strerror(-rc));
    }
    *out = agents;
    return 0;
}

void agents_end(struct agents *agents)
{
    pthread_mutex_lock(&agents->mutex);
    agents->stop = true;
    pthread_mutex_unlock(&agents->mutex);
    wake(agents);
}

void agents_wait(struct agents *agents)
{
    const struct timespec until = timespec_of_ns(clock_ns() + END_NS);

    pthread_clockjoin_np(agents->thread, NULL, CLOCK_MONOTONIC, &until);
}
