// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file agents_ask.c  Asking libvirt, and the agents; all of it the thread's. See agents.h. What
 * they answer: agents_hear.c. */
#include "daemon/agents_private.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "daemon/log.h"
#include "daemon/memory_news.h"
#include "domain/domain_events.h"
#include "domain/domain_xml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A libvirtd that hangs is found out by this connection and by the daemon's own within seconds of
 * each other. */
#define RETRY_NS 10000000000ULL
/* It may be libvirtd that hangs and not a QEMU: by then that is known, see domain_keep_alive(). */
#define HANGS_NS 30000000000ULL

/* A thousand QEMUs that all answer take a second or two, more on a busy host. */
#define PATIENCE_S 3
#define PATIENCE_A_GUEST_S 0.02

/* --- what is known of one guest --------------------------------------------------------------- */

static void free_asked(struct asked *asked)
{
    agent_channel_free(asked->channel);
    free(asked->lines);
    free(asked);
}

static struct asked *find_or_add(struct agents *agents, const struct domain_memory *memory)
{
    struct asked *asked = agents->list;

    while (asked && strcmp(asked->uuid, memory->uuid) != 0)
        asked = asked->next;
    if (asked)
        return asked;
    asked = calloc(1, sizeof(*asked));
    if (!asked)
        return NULL;
    snprintf(asked->uuid, sizeof(asked->uuid), "%s", memory->uuid);
    asked->id = -1; /* not this run's */
    word_follower_init(&asked->follower, "not asked yet");
    pthread_mutex_lock(&agents->mutex);
    asked->next = agents->list;
    agents->list = asked;
    agents->n++;
    pthread_mutex_unlock(&agents->mutex);
    return asked;
}

/* Those of @p source (all: NULL) that are not there. */
static void remove_absent(struct agents *agents, const struct agent_source *source)
{
    struct asked *gone = NULL;
    struct asked **at = &agents->list;

    pthread_mutex_lock(&agents->mutex);
    while (*at) {
        struct asked *one = *at;

        if (one->there || (source && &agents->sources[one->source] != source)) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        one->next = gone;
        gone = one;
        agents->n--;
    }
    pthread_mutex_unlock(&agents->mutex);
    while (gone) {
        struct asked *next = gone->next;

        free_asked(gone);
        gone = next;
    }
}

static void hang_up(struct agent_source *source)
{
    domain_disconnect(source->libvirt);
    source->libvirt = NULL;
}

void agents_forget(struct agents *agents)
{
    for (struct asked *one = agents->list; one; one = one->next)
        one->there = false;
    remove_absent(agents, NULL);
    for (size_t i = 0; i < AGENTS_MAX_SOURCES; i++)
        hang_up(&agents->sources[i]);
}

/* --- the way to its agent --------------------------------------------------------------------- */

/* 0; -ENOENT: it has no channel; else it cannot be known. */
static int read_endpoint(const struct agent_source *source, struct asked *asked,
                         struct agent_endpoint *endpoint, uint64_t *ram_bytes)
{
    cleanup_free char *xml = NULL;
    struct domain_description description = {0};
    int rc = domain_xml_fetch(source->libvirt, asked->uuid, &xml, NULL);

    if (rc == 0)
        rc = domain_xml_parse(xml, strlen(xml), &description, NULL);
    if (rc < 0)
        return rc == -ENOENT ? -ESRCH : rc;
    *ram_bytes = description.ram.total_bytes;
    asked->two_ways = *description.agent_port.path && description.agent_port.vsock_cid;
    rc = agent_endpoint_choose(&description.agent_port, endpoint, NULL);
    domain_description_free(&description);
    return rc;
}

static bool is_to_be_read(struct agents *agents, struct asked *asked)
{
    pthread_mutex_lock(&agents->mutex);

    /* Whoever answers by vsock, the port is the better way once somebody has it open. */
    bool by_port = asked->channel && *agent_channel_endpoint(asked->channel)->path;
    bool due = rounds_xml_due(&asked->xml, asked->channel && (by_port || !asked->two_ways),
                              &agents->xml_left);

    pthread_mutex_unlock(&agents->mutex);
    return due;
}

/* The way may be the one that is known: something else was plugged. */
static void take_way(struct agents *agents, struct asked *asked,
                     const struct agent_endpoint *endpoint, uint64_t ram_bytes)
{
    if (!asked->channel) {
        asked->channel = agent_channel_new(endpoint, ram_bytes);
        if (asked->channel)
            agent_channel_connect_by(asked->channel, scanner_connect, agents->scanner);
        agents_miss(agents, asked, "its agent has not answered yet");
    } else if (!agent_endpoint_same(agent_channel_endpoint(asked->channel), endpoint)) {
        if (asked->two_ways)
            agent_channel_redirect(asked->channel, endpoint);
        else
            agent_channel_set_endpoint(asked->channel, endpoint);
    }
}

static void has_no_way(struct agents *agents, struct asked *asked, int rc)
{
    agent_channel_free(asked->channel);
    asked->channel = NULL;
    asked->answers = false;
    asked->said = (struct said){0};
    agents_miss(agents, asked,
                rc == -ENOENT ? "no channel " WIRE_PORT " in its XML, and its balloon tells nothing"
                              : "the channel in its XML leads nowhere");
}

static void find_channel(struct agents *agents, const struct agent_source *source,
                         struct asked *asked)
{
    struct agent_endpoint endpoint;
    uint64_t ram_bytes = AGENT_UNKNOWN;
    int rc;

    if (!is_to_be_read(agents, asked))
        return;
    rc = read_endpoint(source, asked, &endpoint, &ram_bytes);
    if (rc == 0)
        take_way(agents, asked, &endpoint, ram_bytes);
    else if (rc == -ENOENT || rc == -EOPNOTSUPP)
        has_no_way(agents, asked, rc);
    else
        agents_plugged(agents, asked->uuid); /* libvirt had no answer: the next time, perhaps */
}

/* Of another run of the guest everything is another. */
static void begin_run(struct agents *agents, struct asked *asked,
                      const struct domain_memory *memory)
{
    agent_channel_free(asked->channel);
    asked->channel = NULL;
    asked->id = memory->id;
    asked->answers = false;
    asked->said = (struct said){0};
    *asked->lack = '\0';
    pthread_mutex_lock(&agents->mutex);
    asked->xml = (struct xml_turn){0};
    word_follower_init(&asked->follower, "not asked yet");
    pthread_mutex_unlock(&agents->mutex);
}

/* --- libvirt ---------------------------------------------------------------------------------- */

/* As old as it is: a driver that nobody polls tells but once, when it starts. */
static void hear_balloon(struct word_follower *follower, const struct domain_memory *memory)
{
    double age_s = (double)time(NULL) - (double)memory->updated_s;

    word_follower_hear_balloon(follower, memory, agents_boot_s() - (age_s > 0 ? age_s : 0));
}

static void note(struct agents *agents, unsigned source, const struct domain_memory *memory)
{
    struct asked *asked = find_or_add(agents, memory);

    if (!asked)
        return;
    asked->there = true;
    asked->source = source;
    snprintf(asked->name, sizeof(asked->name), "%s", memory->name);
    if (asked->id != memory->id)
        begin_run(agents, asked, memory);
    find_channel(agents, &agents->sources[source], asked);
    if (asked->channel && memory->maximum_bytes != DOMAIN_MEMORY_UNKNOWN)
        agent_channel_set_ram(asked->channel, memory->maximum_bytes);
    pthread_mutex_lock(&agents->mutex);
    asked->follower.current_bytes = memory->current_bytes;
    if (!asked->channel || !asked->answers)
        hear_balloon(&asked->follower, memory);
    pthread_mutex_unlock(&agents->mutex);
    agents_tell_lack(agents, asked);
    if (memory->suspended && asked->channel) {
        agent_channel_suspend(asked->channel);
        agents_miss(agents, asked, "it is suspended");
        asked->asked_ns = clock_ns() + ASK_AGAIN_NS; /* not now */
    }
}

/* What was plugged while nobody listened nobody told: all of them are read again. */
static void doubt_ways(struct agents *agents, const struct agent_source *source)
{
    pthread_mutex_lock(&agents->mutex);
    for (struct asked *one = agents->list; one; one = one->next)
        if (&agents->sources[one->source] == source)
            one->xml.plugged = true;
    pthread_mutex_unlock(&agents->mutex);
}

static ssize_t connect_and_read(struct agents *agents, struct agent_source *source,
                                struct domain_memory **memory, struct error *error)
{
    if (!source->libvirt) {
        int rc = domain_connect(source->at.uri, &source->libvirt, error);

        if (rc < 0)
            return rc;
        domain_keep_alive(source->libvirt);
        doubt_ways(agents, source);
    }
    return memory_news(&source->libvirt, PATIENCE_S + PATIENCE_A_GUEST_S * (double)agents->n,
                       memory, &agents->news_cpu_s, error);
}

/* Connecting waits for a libvirtd that hangs, for as long as it does: once it has failed that is
 * left to a thread that has nothing else to do. */
static bool may_connect(const struct agent_source *source)
{
    return !source->said || (clock_ns() >= source->retry_ns && source->at.up(source->at.context));
}

static void fails(struct agent_source *source, int rc, const struct error *error)
{
    bool hangs = rc == -ETIMEDOUT;

    if (hangs)
        log_line(LOG_CLASS_CONNECTION, LOG_NOTICE, "%s: %s; guests are asked as before",
                 source->at.uri, error->text);
    else if (!source->said)
        log_line(LOG_CLASS_CONNECTION, LOG_INFO, "no news of guests to ask: %s", error->text);
    source->said = true;
    source->retry_ns = clock_ns() + (hangs ? HANGS_NS : RETRY_NS);
    hang_up(source);
}

/* Guests of a libvirtd that is away are asked as before. */
static void read_source(struct agents *agents, unsigned number)
{
    struct agent_source *source = &agents->sources[number];
    cleanup_free struct domain_memory *memory = NULL;
    struct error error = {0};
    ssize_t n;

    if (!source->libvirt && !may_connect(source))
        return;
    n = connect_and_read(agents, source, &memory, &error);

    if (n < 0) {
        fails(source, (int)n, &error);
        return;
    }
    source->said = false;
    for (struct asked *one = agents->list; one; one = one->next)
        if (one->source == number)
            one->there = false;
    for (ssize_t i = 0; i < n; i++)
        note(agents, number, &memory[i]);
    remove_absent(agents, source);
}

static void drop_source(struct agents *agents, unsigned number)
{
    for (struct asked *one = agents->list; one; one = one->next)
        if (one->source == number)
            one->there = false;
    remove_absent(agents, &agents->sources[number]);
    hang_up(&agents->sources[number]);
}

/* --- agents ----------------------------------------------------------------------------------- */

void agents_ask(struct asked *asked)
{
    uint64_t now_ns = clock_ns();

    if (asked->channel && now_ns >= asked->asked_ns)
        agent_channel_ask(asked->channel, now_ns);
}

void agents_round(struct agents *agents)
{
    agents->xml_left = rounds_xml_most(agents->n);
    for (unsigned i = 0; i < AGENTS_MAX_SOURCES; i++) {
        struct agent_source *source = &agents->sources[i];

        pthread_mutex_lock(&agents->mutex);

        bool wanted = source->at.uri && source->wanted;
        bool stop = agents->stop;

        pthread_mutex_unlock(&agents->mutex);
        if (stop)
            return;
        if (wanted)
            read_source(agents, i);
        else if (source->at.uri)
            drop_source(agents, i);
    }
    for (struct asked *one = agents->list; one; one = one->next)
        agents_ask(one);
}
