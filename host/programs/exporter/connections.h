// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file connections.h  The connections to the exporter, and their deadlines: slow clients cannot
 * keep others out.
 *
 * A connection serves one request, and has CONNECTION_DEADLINE_S for all of it, however its bytes
 * come, and more for a large answer. The oldest connection makes room for a new one: the oldest of
 * the same address if that has CONNECTIONS_AN_ADDRESS already, otherwise the oldest of all if there
 * are CONNECTIONS_MAX. A client that sends its request at once is answered at once, and so is never
 * the oldest for long. Room is made by shutting the socket down, which looks to the server as if
 * the client had gone.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define CONNECTIONS_MAX 32U
#define CONNECTIONS_AN_ADDRESS 16U
#define CONNECTION_DEADLINE_S 10U
#define CONNECTION_BYTES_PER_S (256U << 10) /* additional time for large answers */
#define CONNECTION_DEADLINE_MAX_S 70U

struct connections; /* opaque */
struct connection_entry;

/** Returns NULL if out of memory. */
struct connections *connections_new(void);

/** Call it when all connections have been closed. Accepts NULL. */
void connections_free(struct connections *connections);

/** Adds a connection accepted on @p fd. Another one may be shut down for it. Returns NULL if out of
 * memory; it has no deadline then. */
struct connection_entry *connections_add(struct connections *connections, int fd,
                                         const struct sockaddr *address, uint64_t now_ns);

/** Extends the deadline of a connection that is answered with @p bytes, by the time at
 * CONNECTION_BYTES_PER_S, up to CONNECTION_DEADLINE_MAX_S. @p entry may be NULL. */
void connections_allow(struct connections *connections, struct connection_entry *entry,
                       size_t bytes);

/** Removes a connection; call it before its descriptor is closed. Accepts NULL. */
void connections_remove(struct connections *connections, struct connection_entry *entry);

/** Shuts down connections whose deadline has passed. From any thread. */
void connections_expire(struct connections *connections, uint64_t now_ns);
