// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file agents_hear.c  What the agents say, and waiting for it; all of it the thread's. See
 * agents.h. */
#include "daemon/agents_private.h"

#include "agent/agent_told.h"
#include "base/clock.h"
#include "daemon/log.h"
#include "domain/domain_memory.h"
#include "keep/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

double agents_boot_s(void)
{
    return store_clock_now().steady_s;
}

/* --- what is lacking -------------------------------------------------------------------------- */

/* The balloon's word is one for as long as it is fresh: a driver that nobody polls tells but
 * once. */
static bool balloon_tells(const struct asked *asked)
{
    const struct word_follower *follower = &asked->follower;

    return follower->has_now && follower->now.source == WORD_BALLOON &&
           agents_boot_s() - follower->now.host_s <= DOMAIN_MEMORY_MAX_AGE_S;
}

void agents_tell_lack(struct agents *agents, struct asked *asked)
{
    if (!*asked->lack || balloon_tells(asked))
        return;
    pthread_mutex_lock(&agents->mutex);
    word_follower_miss(&asked->follower, asked->lack);
    pthread_mutex_unlock(&agents->mutex);
}

void agents_miss(struct agents *agents, struct asked *asked, const char *why)
{
    snprintf(asked->lack, sizeof(asked->lack), "%s", why);
    agents_tell_lack(agents, asked);
}

/* --- what it says ----------------------------------------------------------------------------- */

/* All of it, its processes, too: they are not in a record. */
static void keep_told(struct agents *agents, struct asked *asked, const struct agent_hello *hello,
                      const struct agent_event *event)
{
    char *lines;

    if (asked->lines_ns && clock_ns() - asked->lines_ns < KEEP_TOLD_NS)
        return;
    lines = agent_told_text(hello, &event->message.report, &event->message.top);
    asked->lines_ns = clock_ns();
    pthread_mutex_lock(&agents->mutex);
    free(asked->lines);
    asked->lines = lines;
    pthread_mutex_unlock(&agents->mutex);
}

static void hear_report(struct agents *agents, struct asked *asked, const struct agent_event *event)
{
    const struct agent_hello *hello = agent_channel_hello(asked->channel);

    if (!hello)
        return;
    if (said_answers(&asked->said, hello, clock_ns()))
        log_line(LOG_CLASS_AGENT, LOG_INFO, "domain %s: its agent answers (%s, Linux %s)",
                 asked->name, hello->agent, hello->kernel);
    else if (!asked->answers)
        log_line(LOG_CLASS_AGENT, LOG_DEBUG, "domain %s: heard again (%s, Linux %s)", asked->name,
                 hello->agent, hello->kernel);
    asked->answers = true;
    *asked->lack = '\0';
    pthread_mutex_lock(&agents->mutex);
    word_follower_hear(&asked->follower, hello, &event->message.report, agents_boot_s());
    pthread_mutex_unlock(&agents->mutex);
    keep_told(agents, asked, hello, event);
}

static void hear_fault(struct agents *agents, struct asked *asked, const struct agent_event *event)
{
    char why[WORD_MISSING_TEXT];

    if (said_fault(&asked->said, event->fault, clock_ns()))
        log_line(LOG_CLASS_AGENT, LOG_NOTICE, "domain %s: its agent (%s): %s", asked->name,
                 agent_fault_name(event->fault), event->error.text);
    if (event->kind != AGENT_FAILED)
        return;
    asked->answers = false;
    if (asked->two_ways)
        agents_plugged(agents, asked->uuid);
    snprintf(why, sizeof(why), "agent %s: %s", agent_fault_name(event->fault), event->error.text);
    agents_miss(agents, asked, why);
}

static void log_stall(struct asked *asked, const struct agent_stall *stall)
{
    char more[64] = "";
    uint64_t unsaid;

    if (!said_stall(&asked->said, clock_ns(), &unsaid))
        return;
    if (unsaid > 0)
        snprintf(more, sizeof(more), "; %llu more since this was said last",
                 (unsigned long long)unsaid);
    log_line(LOG_CLASS_AGENT, LOG_INFO, "domain %s: says that it stalls for %s (%s)%s", asked->name,
             stall->resource, stall->kind, more);
}

#define SEVERE_SOME 0.1
#define SEVERE_FULL 0.01

/* What a trigger stands for is up to the guest's owner. */
static bool is_severe(const struct agent_stall *stall)
{
    double share = stall->window_us > 0 ? (double)stall->threshold_us / (double)stall->window_us
                                        : 0;

    return !strcmp(stall->resource, "memory") && stall->threshold_us <= stall->window_us &&
           stall->window_us != AGENT_UNKNOWN &&
           share >= (!strcmp(stall->kind, "full") ? SEVERE_FULL : SEVERE_SOME);
}

/* Who drives balloons must not wait for the next record. Under the mutex: the writer ends after it
 * was taken away. */
static void keep_stall(struct agents *agents, struct asked *asked, const struct agent_stall *stall)
{
    if (!is_severe(stall) || (asked->stall_ns && clock_ns() - asked->stall_ns < KEEP_STALL_NS))
        return;
    asked->stall_ns = clock_ns();
    pthread_mutex_lock(&agents->mutex);
    writer_event(agents->writer, asked->uuid, EVENT_STALL);
    pthread_mutex_unlock(&agents->mutex);
}

/* One that goes on is told and asked about now and then: it must not drown what others have to
 * say. */
static void hear_stall(struct agents *agents, struct asked *asked, const struct agent_stall *stall)
{
    log_stall(asked, stall);
    keep_stall(agents, asked, stall);
    if (clock_ns() < asked->asked_ns)
        return;
    agents_ask(asked);
    asked->asked_ns = clock_ns() + ASK_AGAIN_NS;
}

static void hear(struct agents *agents, struct asked *asked)
{
    struct agent_event event;

    for (;;) {
        switch (agent_channel_next(asked->channel, clock_ns(), &event)) {
        case AGENT_REPORT:
            hear_report(agents, asked, &event);
            break;
        case AGENT_STALL:
            hear_stall(agents, asked, &event.message.stall);
            break;
        case AGENT_FAULT:
        case AGENT_FAILED:
            hear_fault(agents, asked, &event);
            break;
        case AGENT_NOTHING:
            return;
        }
    }
}

/* --- waiting ---------------------------------------------------------------------------------- */

/* Where they are to be polled, in the order of the list; the number of descriptors. */
static size_t fill(struct agents *agents, uint64_t *until_ns, bool held)
{
    size_t n = 0;

    agents->fds[n++] = (struct pollfd){.fd = agents->wake_fd, .events = POLLIN};
    for (struct asked *one = agents->list; one; one = one->next) {
        struct agent_channel *channel = one->channel;
        uint64_t due_ns = channel ? agent_channel_due(channel) : UINT64_MAX;

        if (held &&
            due_ns == UINT64_MAX) /* nothing was asked: what it says can wait, in its own memory */
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

void agents_listen(struct agents *agents, uint64_t until_ns, bool held)
{
    uint64_t drained;
    size_t i = 1;

    if (!make_room(agents)) {
        sleep(1);
        return;
    }

    size_t n = fill(agents, &until_ns, held);

    if (poll(agents->fds, n, timeout_ms(until_ns)) < 0)
        return;
    if (agents->fds[0].revents && read(agents->wake_fd, &drained, sizeof(drained)) < 0)
        return; /* somebody else's signal */

    uint64_t now_ns = clock_ns();

    for (struct asked *one = agents->list; one; one = one->next, i++)
        if (one->channel && (agents->fds[i].revents || now_ns >= agent_channel_due(one->channel)))
            hear(agents, one);
}
