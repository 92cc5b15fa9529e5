// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file agents_ask.c  Asks libvirt, and the agents; all functions belong to the thread. See
 * agents.h. agents_receive.c handles the answers. */
#include "programs/vmwssd/agents/agents_private.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/service/log.h"
#include "guest/domain/domain_events.h"
#include "guest/domain/domain_xml.h"
#include "programs/vmwssd/agents/balloon_stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* If libvirtd hangs, this connection and the daemon's own notice it within seconds of each other.
 */
#define RETRY_NS 10000000000ULL
/* It may be libvirtd that hangs and not a QEMU: within this time that is known, see
 * domain_keep_alive(). */
#define HANGS_NS 30000000000ULL

/* If all of a thousand QEMUs answer, this takes a second or two, more on a busy host. */
#define PATIENCE_S 3
#define PATIENCE_A_GUEST_S 0.02

/* --- one guest -------------------------------------------------------------------------------- */

static void free_peer(struct agent_peer *peer)
{
    agent_channel_free(peer->channel);
    free(peer->lines);
    free(peer);
}

static struct agent_peer *find_or_add(struct agents *agents, const struct domain_memory *memory)
{
    struct agent_peer *peer = agents_find(agents, memory->uuid);

    if (peer)
        return peer;
    peer = calloc(1, sizeof(*peer));
    if (!peer)
        return NULL;
    snprintf(peer->uuid, sizeof(peer->uuid), "%s", memory->uuid);
    peer->id = -1; /* matches no run */
    guest_tracker_init(&peer->tracker, "not asked yet");
    HOLD(&agents->mutex);
    peer->next = agents->list;
    agents->list = peer;
    agents->n++;
    return peer;
}

/* Removes the guests of @p source (NULL: of all sources) that no longer exist. */
static void remove_absent(struct agents *agents, const struct agent_source *source)
{
    struct agent_peer *gone = NULL;
    struct agent_peer **at = &agents->list;

    pthread_mutex_lock(&agents->mutex);
    while (*at) {
        struct agent_peer *one = *at;

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
        struct agent_peer *next = gone->next;

        free_peer(gone);
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
    for (struct agent_peer *one = agents->list; one; one = one->next)
        one->there = false;
    remove_absent(agents, NULL);
    for (size_t i = 0; i < AGENTS_MAX_SOURCES; i++)
        hang_up(&agents->sources[i]);
}

/* --- the way to its agent --------------------------------------------------------------------- */

/* Returns 0; -ENOENT: it has no channel; another error: not known. */
static int read_endpoint(const struct agent_source *source, struct agent_peer *peer,
                         struct agent_endpoint *endpoint, uint64_t *ram_bytes)
{
    cleanup_free char *xml = NULL;
    struct domain_description description = {0};
    int rc = domain_xml_fetch(source->libvirt, peer->uuid, &xml, NULL);

    if (rc == 0)
        rc = domain_xml_parse(xml, strlen(xml), &description, NULL);
    if (rc < 0)
        return rc == -ENOENT ? -ESRCH : rc;
    *ram_bytes = description.ram.total_bytes;
    peer->two_ways = *description.agent_port.path && description.agent_port.vsock_cid;
    rc = agent_endpoint_choose(&description.agent_port, endpoint, NULL);
    domain_description_free(&description);
    return rc;
}

static bool is_to_be_read(struct agents *agents, struct agent_peer *peer)
{
    HOLD(&agents->mutex);

    /* An agent may answer by vsock; the port is preferred once a program has it open. */
    bool by_port = peer->channel && *agent_channel_endpoint(peer->channel)->path;
    return polling_xml_due(&peer->xml, peer->channel && (by_port || !peer->two_ways),
                           &agents->xml_left);
}

/* The endpoint may be the known one: something else was plugged. */
static void take_way(struct agents *agents, struct agent_peer *peer,
                     const struct agent_endpoint *endpoint, uint64_t ram_bytes)
{
    if (!peer->channel) {
        peer->channel = agent_channel_new(endpoint, ram_bytes);
        if (peer->channel)
            agent_channel_connect_by(peer->channel, scanner_connect, agents->scanner);
        agents_set_unavailable(agents, peer, "its agent has not answered yet");
    } else if (!agent_endpoint_same(agent_channel_endpoint(peer->channel), endpoint)) {
        if (peer->two_ways)
            agent_channel_redirect(peer->channel, endpoint);
        else
            agent_channel_set_endpoint(peer->channel, endpoint);
    }
}

static void has_no_way(struct agents *agents, struct agent_peer *peer, int rc)
{
    agent_channel_free(peer->channel);
    peer->channel = NULL;
    peer->answers = false;
    peer->log_limit = (struct log_limit){0};
    agents_set_unavailable(agents, peer,
                           rc == -ENOENT ? "no channel " WIRE_PORT
                                           " in its XML, and its balloon reports nothing"
                                         : "the channel in its XML leads nowhere");
}

static void find_channel(struct agents *agents, const struct agent_source *source,
                         struct agent_peer *peer)
{
    struct agent_endpoint endpoint;
    uint64_t ram_bytes = AGENT_UNKNOWN;
    int rc;

    if (!is_to_be_read(agents, peer))
        return;
    rc = read_endpoint(source, peer, &endpoint, &ram_bytes);
    if (rc == 0)
        take_way(agents, peer, &endpoint, ram_bytes);
    else if (rc == -ENOENT || rc == -EOPNOTSUPP)
        has_no_way(agents, peer, rc);
    else
        agents_plugged(agents, peer->uuid); /* libvirt did not answer: try again the next time */
}

/* Resets everything for another run of the guest. */
static void begin_run(struct agents *agents, struct agent_peer *peer,
                      const struct domain_memory *memory)
{
    agent_channel_free(peer->channel);
    peer->channel = NULL;
    peer->id = memory->id;
    peer->answers = false;
    peer->log_limit = (struct log_limit){0};
    *peer->unavailable = '\0';
    HOLD(&agents->mutex);
    peer->xml = (struct xml_turn){0};
    guest_tracker_init(&peer->tracker, "not asked yet");
}

/* --- libvirt ---------------------------------------------------------------------------------- */

/* Takes the report with its age: a driver that is not polled reports only once, when it starts. */
static void update_balloon(struct guest_tracker *tracker, const struct domain_memory *memory)
{
    double age_s = (double)time(NULL) - (double)memory->updated_s;

    guest_tracker_update_balloon(tracker, memory, agents_boot_s() - (age_s > 0 ? age_s : 0));
}

static void agents_note(struct agents *agents, unsigned source, const struct domain_memory *memory)
{
    struct agent_peer *peer = find_or_add(agents, memory);

    if (!peer)
        return;
    peer->there = true;
    peer->source = source;
    snprintf(peer->name, sizeof(peer->name), "%s", memory->name);
    if (peer->id != memory->id)
        begin_run(agents, peer, memory);
    find_channel(agents, &agents->sources[source], peer);
    if (peer->channel && memory->maximum_bytes != DOMAIN_MEMORY_UNKNOWN)
        agent_channel_set_ram(peer->channel, memory->maximum_bytes);
    pthread_mutex_lock(&agents->mutex);
    peer->tracker.current_bytes = memory->current_bytes;
    if (!peer->channel || !peer->answers)
        update_balloon(&peer->tracker, memory);
    pthread_mutex_unlock(&agents->mutex);
    agents_forward_unavailable(agents, peer);
    if (memory->suspended && peer->channel) {
        agent_channel_suspend(peer->channel);
        agents_set_unavailable(agents, peer, "it is suspended");
        peer->asked_ns = clock_ns() + ASK_AGAIN_NS; /* not before then */
    }
}

/* No event reported devices that were plugged while the connection was down: all channels are
 * looked up again. */
static void doubt_ways(struct agents *agents, const struct agent_source *source)
{
    HOLD(&agents->mutex);
    for (struct agent_peer *one = agents->list; one; one = one->next)
        if (&agents->sources[one->source] == source)
            one->xml.plugged = true;
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
    return balloon_stats_fetch(&source->libvirt,
                               PATIENCE_S + PATIENCE_A_GUEST_S * (double)agents->n, memory,
                               &agents->balloon_stats_cpu_s, error);
}

/* Connecting waits for a hanging libvirtd as long as it hangs: after a failure only a thread that
 * does nothing else tries it. */
static bool may_connect(const struct agent_source *source)
{
    return !source->logged || (clock_ns() >= source->retry_ns && source->at.up(source->at.context));
}

static void fails(struct agent_source *source, int rc, const struct error *error)
{
    bool hangs = rc == -ETIMEDOUT;

    if (hangs)
        log_line(LOG_CLASS_CONNECTION, LOG_NOTICE, "%s: %s; guests are asked as before",
                 source->at.uri, error->text);
    else if (!source->logged)
        log_line(LOG_CLASS_CONNECTION, LOG_INFO, "the guests to ask are not known: %s",
                 error->text);
    source->logged = true;
    source->retry_ns = clock_ns() + (hangs ? HANGS_NS : RETRY_NS);
    hang_up(source);
}

/* The guests of a libvirtd that is down are asked as before. */
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
    source->logged = false;
    for (struct agent_peer *one = agents->list; one; one = one->next)
        if (one->source == number)
            one->there = false;
    for (ssize_t i = 0; i < n; i++)
        agents_note(agents, number, &memory[i]);
    remove_absent(agents, source);
}

static void drop_source(struct agents *agents, unsigned number)
{
    for (struct agent_peer *one = agents->list; one; one = one->next)
        if (one->source == number)
            one->there = false;
    remove_absent(agents, &agents->sources[number]);
    hang_up(&agents->sources[number]);
}

/* --- agents ----------------------------------------------------------------------------------- */

void agents_ask(struct agent_peer *peer)
{
    uint64_t now_ns = clock_ns();

    if (peer->channel && now_ns >= peer->asked_ns)
        agent_channel_ask(peer->channel, now_ns);
}

void agents_poll(struct agents *agents)
{
    agents->xml_left = polling_xml_most(agents->n);
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
    for (struct agent_peer *one = agents->list; one; one = one->next)
        agents_ask(one);
}
