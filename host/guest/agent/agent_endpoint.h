// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file agent_endpoint.h  Where the host reaches a guest's agent: QEMU's end of the virtio-serial
 * port, or AF_VSOCK. */
#pragma once

#include "base/error.h"
#include "guest/domain/agent_port.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct agent_endpoint {
    char path[256];     /* of the Unix socket; empty: vsock */
    uint32_t vsock_cid; /* if path is empty */
    char uuid[37];      /* of the domain, if path is not empty */
    bool closed;        /* no program in the guest had the port open when libvirt was asked */
    pid_t ours;         /* a process that is ours too, for agent_endpoint_connect(); 0: none */
};

/**
 * The way to take, as the domain's live XML has it: the port, unless only vsock is left because
 * no program in the guest has the port open.
 * @return 0; -ENOENT there is none: the message has the XML that makes one; -EOPNOTSUPP the port
 * leads elsewhere
 */
int agent_endpoint_choose(const struct agent_port *port, struct agent_endpoint *out,
                          struct error *error);

/** Do both lead to the same place? */
bool agent_endpoint_same(const struct agent_endpoint *one, const struct agent_endpoint *other);

/**
 * Begins to connect; never waits.
 *
 * The socket's directory is writable for QEMU's user, so a guest that has broken out into its QEMU
 * can put anything in the socket's place, while the caller may connect to every socket of the host.
 * So the path must name a socket and not a symbolic link, and the process that called listen(2) on
 * it (SO_PEERCRED, unix(7)) must be the QEMU with the domain's UUID; QEMU does so even on a socket
 * that libvirt passes to it (util/qemu-sockets.c socket_listen()). A socket of this very process,
 * or of @p endpoint->ours, is no other's either: that of an embedded driver, until QEMU listens.
 * Nor may QEMU's command line have the socket for something else, as its monitor
 * (qemu_socket_may_be_port()). Otherwise not a byte is sent.
 * @return a non-blocking descriptor: connected when POLLOUT says so and SO_ERROR is 0. -EAGAIN: as
 *         many wait there already as QEMU lets, for it serves one client at a time; -ELOOP a
 *         symbolic link; -ENOTSOCK no socket; -EACCES another process serves it, or it
 *         is not the agent's; or what open(2),
 *         socket(2) or connect(2) returned, with the message.
 */
int agent_endpoint_connect(const struct agent_endpoint *endpoint, struct error *error);

/** "socket PATH" or "vsock CID:PORT", for messages. */
char *agent_endpoint_name(const struct agent_endpoint *endpoint, char *text, size_t size);
