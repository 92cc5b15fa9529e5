// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file connections.h  Who is connected to the exporter, and for how long: slow clients cannot keep
 * others out.
 *
 * A connection serves one request, and has CONNECTION_DEADLINE_S for all of it, however its bytes
 * come, and more for a large answer. The oldest makes room for a new one, of the same address if
 * that has CONNECTIONS_AN_ADDRESS already, else if there are CONNECTIONS_MAX: a client that sends
 * its request at once is answered at once, and so never the oldest for long. Room is made by
 * shutting the socket down, which the server notices as if the client had gone.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define CONNECTIONS_MAX 32U
#define CONNECTIONS_AN_ADDRESS 16U
#define CONNECTION_DEADLINE_S 10U
#define CONNECTION_BYTES_PER_S (256U << 10) /* of what is large, on top */
#define CONNECTION_DEADLINE_MAX_S 70U

struct connections; /* opaque */
struct connection_entry;

/** NULL: out of memory. */
struct connections *connections_new(void);

/** When all have been closed. NULL is allowed. */
void connections_free(struct connections *connections);

/** One was accepted, on @p fd. Another may be shut down for it. NULL: out of memory; it has no
 * deadline then. */
struct connection_entry *connections_add(struct connections *connections, int fd,
                                         const struct sockaddr *address, uint64_t now_ns);

/** It is answered with so many bytes: its deadline is later by what CONNECTION_BYTES_PER_S take, up
 * to CONNECTION_DEADLINE_MAX_S. @p entry may be NULL. */
void connections_allow(struct connections *connections, struct connection_entry *entry,
                       size_t bytes);

/** It is being closed: before its descriptor is. NULL is allowed. */
void connections_remove(struct connections *connections, struct connection_entry *entry);

/** Shuts those down whose time is over. From any thread. */
void connections_expire(struct connections *connections, uint64_t now_ns);
