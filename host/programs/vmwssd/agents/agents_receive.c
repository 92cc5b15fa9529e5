// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file agents_receive.c  Receives reports of agents, and waits for them; all functions belong to
 * the thread. See agents.h. */
#include "programs/vmwssd/agents/agents_private.h"

#include "base/clock.h"
#include "base/cond.h"
#include "base/service/log.h"
#include "guest/agent/agent_last_report.h"
#include "guest/domain/domain_memory.h"
#include "history/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

double agents_boot_s(void)
{
    return store_clock_now().steady_s;
}

/* --- missing reports -------------------------------------------------------------------------- */

/* The balloon driver's report counts while it is fresh: a driver that is not polled reports only
 * once. */
static bool balloon_reports(const struct agent_peer *peer)
{
    const struct guest_tracker *tracker = &peer->tracker;

    return tracker->has_now && tracker->now.source == GUEST_STATS_BALLOON &&
           agents_boot_s() - tracker->now.host_s <= DOMAIN_MEMORY_MAX_AGE_S;
}

void agents_forward_unavailable(struct agents *agents, struct agent_peer *peer)
{
    if (!*peer->unavailable || balloon_reports(peer))
        return;
    HOLD(&agents->mutex);
    guest_tracker_unavailable(&peer->tracker, peer->unavailable);
}

void agents_set_unavailable(struct agents *agents, struct agent_peer *peer, const char *why)
{
    snprintf(peer->unavailable, sizeof(peer->unavailable), "%s", why);
    agents_forward_unavailable(agents, peer);
}

/* --- reports ---------------------------------------------------------------------------------- */

/* Stores the whole report, including processes, which are not in a record. */
static void keep_last_report(struct agents *agents, struct agent_peer *peer,
                             const struct agent_hello *hello, const struct agent_event *event)
{
    char *lines;

    if (peer->lines_ns && clock_ns() - peer->lines_ns < KEEP_REPORT_NS)
        return;
    lines = agent_last_report_text(hello, &event->message.report, &event->message.top);
    peer->lines_ns = clock_ns();
    HOLD(&agents->mutex);
    free(peer->lines);
    peer->lines = lines;
}

static void receive_report(struct agents *agents, struct agent_peer *peer,
                           const struct agent_event *event)
{
    const struct agent_hello *hello = agent_channel_hello(peer->channel);

    if (!hello)
        return;
    if (log_limit_answer(&peer->log_limit, hello, clock_ns()))
        log_line(LOG_CLASS_AGENT, LOG_INFO, "domain %s: its agent answers (%s, Linux %s)",
                 peer->name, hello->agent, hello->kernel);
    else if (!peer->answers)
        log_line(LOG_CLASS_AGENT, LOG_DEBUG, "domain %s: its agent answers again (%s, Linux %s)",
                 peer->name, hello->agent, hello->kernel);
    peer->answers = true;
    *peer->unavailable = '\0';
    pthread_mutex_lock(&agents->mutex);
    guest_tracker_update(&peer->tracker, hello, &event->message.report, agents_boot_s());
    pthread_mutex_unlock(&agents->mutex);
    keep_last_report(agents, peer, hello, event);
}

static void receive_fault(struct agents *agents, struct agent_peer *peer,
                          const struct agent_event *event)
{
    char why[GUEST_STATS_REASON_TEXT];

    if (log_limit_fault(&peer->log_limit, event->fault, clock_ns()))
        log_line(LOG_CLASS_AGENT, LOG_NOTICE, "domain %s: its agent (%s): %s", peer->name,
                 agent_fault_name(event->fault), event->error.text);
    if (event->kind != AGENT_FAILED)
        return;
    peer->answers = false;
    if (peer->two_ways)
        agents_plugged(agents, peer->uuid);
    snprintf(why, sizeof(why), "agent %s: %s", agent_fault_name(event->fault), event->error.text);
    agents_set_unavailable(agents, peer, why);
}

static void log_stall(struct agent_peer *peer, const struct agent_stall *stall)
{
    char more[64] = "";
    uint64_t suppressed;

    if (!log_limit_stall(&peer->log_limit, clock_ns(), &suppressed))
        return;
    if (suppressed > 0)
        snprintf(more, sizeof(more), "; %llu more since the last such message",
                 (unsigned long long)suppressed);
    log_line(LOG_CLASS_AGENT, LOG_INFO, "domain %s: reports a stall for %s (%s)%s", peer->name,
             stall->resource, stall->kind, more);
}

#define SEVERE_SOME 0.1
#define SEVERE_FULL 0.01

/* The guest's owner chooses what a trigger stands for. */
static bool is_severe(const struct agent_stall *stall)
{
    double share = stall->window_us > 0 ? (double)stall->threshold_us / (double)stall->window_us
                                        : 0;

    return !strcmp(stall->resource, "memory") && stall->threshold_us <= stall->window_us &&
           stall->window_us != AGENT_UNKNOWN &&
           share >= (!strcmp(stall->kind, "full") ? SEVERE_FULL : SEVERE_SOME);
}

/* A controller of balloons must not wait for the next record. Call it with the mutex held: the
 * writer is only ended after it was removed here. */
static void keep_stall(struct agents *agents, struct agent_peer *peer,
                       const struct agent_stall *stall)
{
    if (!is_severe(stall) || (peer->stall_ns && clock_ns() - peer->stall_ns < KEEP_STALL_NS))
        return;
    peer->stall_ns = clock_ns();
    HOLD(&agents->mutex);
    writer_event(agents->writer, peer->uuid, EVENT_STALL);
}

/* A lasting stall is logged and answered with a request only now and then: it must not displace
 * others. */
static void receive_stall(struct agents *agents, struct agent_peer *peer,
                          const struct agent_stall *stall)
{
    log_stall(peer, stall);
    keep_stall(agents, peer, stall);
    if (agents->held || clock_ns() < peer->asked_ns)
        return;
    agents_ask(peer);
    peer->asked_ns = clock_ns() + ASK_AGAIN_NS;
}

static void receive_events(struct agents *agents, struct agent_peer *peer)
{
    struct agent_event event;

    for (;;) {
        switch (agent_channel_next(peer->channel, clock_ns(), &event)) {
        case AGENT_REPORT:
            receive_report(agents, peer, &event);
            break;
        case AGENT_STALL:
            receive_stall(agents, peer, &event.message.stall);
            break;
        case AGENT_FAULT:
        case AGENT_FAILED:
            receive_fault(agents, peer, &event);
            break;
        case AGENT_NOTHING:
            return;
        }
    }
}

/* --- waiting ---------------------------------------------------------------------------------- */

/* Fills in the descriptors to poll, in the order of the list; returns their number. */
static size_t fill_pollfds(struct agents *agents, uint64_t *until_ns, bool all)
{
    size_t n = 0;

    agents->fds[n++] = (struct pollfd){.fd = agents->wake_fd, .events = POLLIN};
    for (struct agent_peer *one = agents->list; one; one = one->next) {
        struct agent_channel *channel = one->channel;
        uint64_t due_ns = channel ? agent_channel_deadline(channel) : UINT64_MAX;

        if (!all && due_ns == UINT64_MAX) /* nothing was asked: any message waits in its socket */
            channel = NULL;

        *until_ns = due_ns < *until_ns ? due_ns : *until_ns;
        agents->fds[n++] = (struct pollfd){
            .fd = channel ? agent_channel_fd(channel) : -1,
            .events = channel ? agent_channel_events(channel) : 0,
        };
    }
    return n;
}

static bool make_room(struct agents *agents)
{
    struct pollfd *more;

    if (agents->n_fds > agents->n)
        return true;
    more = reallocarray(agents->fds, agents->n + 1, sizeof(*more));
    if (!more)
        return false;
    agents->fds = more;
    agents->n_fds = agents->n + 1;
    return true;
}

static int timeout_ms(uint64_t until_ns)
{
    uint64_t now_ns = clock_ns();

    if (until_ns == UINT64_MAX)
        return -1;
    if (until_ns <= now_ns)
        return 0;
    return until_ns - now_ns > 60000000000ULL ? 60000
                                              : (int)((until_ns - now_ns + 999999) / 1000000);
}

/* Returns true if unsolicited messages should be received now. While the ledger blocks everything,
 * only messages that are there already are received. */
static bool listens_to_all(struct agents *agents, uint64_t *until_ns)
{
    uint64_t now_ns = clock_ns();
    uint64_t next_ns = agents->listened_ns + HELD_LISTEN_NS;

    if (!agents->held)
        return true;
    if (now_ns < next_ns) {
        *until_ns = next_ns < *until_ns ? next_ns : *until_ns;
        return false;
    }
    agents->listened_ns = *until_ns = now_ns;
    return true;
}

void agents_listen(struct agents *agents, uint64_t until_ns, bool held)
{
    uint64_t drained;
    size_t i = 1;

    if (!make_room(agents)) {
        sleep(1);
        return;
    }

    agents->held = held;

    bool all = listens_to_all(agents, &until_ns);
    size_t n = fill_pollfds(agents, &until_ns, all);

    if (poll(agents->fds, n, timeout_ms(until_ns)) < 0)
        return;
    if (agents->fds[0].revents && read(agents->wake_fd, &drained, sizeof(drained)) < 0)
        return; /* interrupted by a signal */

    uint64_t now_ns = clock_ns();

    for (struct agent_peer *one = agents->list; one; one = one->next, i++)
        if (one->channel &&
            (agents->fds[i].revents || now_ns >= agent_channel_deadline(one->channel)))
            receive_events(agents, one);
}
