// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/exporter/connections.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NS 1000000000ULL

/* The list begins with the newest. A connection that was shut down stays until the server has
 * closed it. */
struct connection_entry {
    struct connection_entry *next;
    int fd;
    bool shut;
    uint64_t since_ns;
    uint64_t allowed_s;
    struct in6_addr address; /* zero: another address family */
};

struct connections {
    pthread_mutex_t mutex; /* also keeps descriptors open: a connection is removed under it before
                              its descriptor is closed */
    struct connection_entry *newest;
};

struct connections *connections_new(void)
{
    struct connections *connections = calloc(1, sizeof(*connections));

    if (connections)
        pthread_mutex_init(&connections->mutex, NULL);
    return connections;
}

void connections_free(struct connections *connections)
{
    if (!connections)
        return;
    pthread_mutex_destroy(&connections->mutex);
    free(connections);
}

static struct in6_addr address_of(const struct sockaddr *address)
{
    struct in6_addr of = {0};

    if (address && address->sa_family == AF_INET6)
        of = ((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    if (address && address->sa_family == AF_INET)
        memcpy(&of, &((const struct sockaddr_in *)(const void *)address)->sin_addr,
               sizeof(struct in_addr));
    return of;
}

static void shut(struct connection_entry *entry)
{
    if (!entry)
        return;
    shutdown(entry->fd, SHUT_RDWR); /* fails if the client has gone already */
    entry->shut = true;
}

/* Returns the oldest connection if the maximum is reached; counts those of @p address, or all if
 * that is NULL. */
static struct connection_entry *surplus(const struct connections *connections,
                                        const struct in6_addr *address, unsigned most)
{
    struct connection_entry *oldest = NULL;
    unsigned n = 0;

    for (struct connection_entry *one = connections->newest; one; one = one->next)
        if (!one->shut && (!address || memcmp(&one->address, address, sizeof(one->address)) == 0)) {
            oldest = one;
            n++;
        }
    return n >= most ? oldest : NULL;
}

static void make_room(struct connections *connections, const struct in6_addr *address)
{
    struct connection_entry *oldest = surplus(connections, address, CONNECTIONS_AN_ADDRESS);

    shut(oldest ? oldest : surplus(connections, NULL, CONNECTIONS_MAX));
}

struct connection_entry *connections_add(struct connections *connections, int fd,
                                         const struct sockaddr *address, uint64_t now_ns)
{
    struct connection_entry *entry = calloc(1, sizeof(*entry));

    if (!entry)
        return NULL;
    *entry = (struct connection_entry){.fd = fd,
                                       .since_ns = now_ns,
                                       .allowed_s = CONNECTION_DEADLINE_S,
                                       .address = address_of(address)};
    pthread_mutex_lock(&connections->mutex);
    make_room(connections, &entry->address);
    entry->next = connections->newest;
    connections->newest = entry;
    pthread_mutex_unlock(&connections->mutex);
    return entry;
}

void connections_allow(struct connections *connections, struct connection_entry *entry,
                       size_t bytes)
{
    const uint64_t allowed_s = CONNECTION_DEADLINE_S + bytes / CONNECTION_BYTES_PER_S;

    if (!entry)
        return;
    pthread_mutex_lock(&connections->mutex);
    entry->allowed_s = allowed_s < CONNECTION_DEADLINE_MAX_S ? allowed_s
                                                             : CONNECTION_DEADLINE_MAX_S;
    pthread_mutex_unlock(&connections->mutex);
}

void connections_remove(struct connections *connections, struct connection_entry *entry)
{
    struct connection_entry **at = &connections->newest;

    pthread_mutex_lock(&connections->mutex);
    while (*at && *at != entry)
        at = &(*at)->next;
    if (*at)
        *at = entry->next;
    pthread_mutex_unlock(&connections->mutex);
    free(entry);
}

void connections_expire(struct connections *connections, uint64_t now_ns)
{
    pthread_mutex_lock(&connections->mutex);
    for (struct connection_entry *one = connections->newest; one; one = one->next)
        if (!one->shut && now_ns >= one->since_ns + one->allowed_s * NS)
            shut(one);
    pthread_mutex_unlock(&connections->mutex);
}
